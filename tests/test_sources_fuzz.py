"""Damaged and hostile files, every format: one clear sentence or a correct result, in bounded memory and time."""

import json
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.documents import load_file
from ingest.sources.plain import json_lines, read_plain
from normalize.errors import FundstelleError, SourceError
from normalize.laws import LawTable

ROOT = Path(__file__).resolve().parents[1]
LAWS = LawTable.builtin()

GII = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE dokumente SYSTEM "http://www.gesetze-im-internet.de/dtd/1.01/gii-norm.dtd">
<dokumente builddate="20240101000000" doknr="BJNR1"><norm><metadaten><jurabk>XPrüfG</jurabk></metadaten></norm>
<norm><metadaten><jurabk>XPrüfG</jurabk><enbez>§ 1</enbez><titel>Zweck</titel></metadaten><textdaten><text><Content>
<P>(1) Geprüft wird die <I>Größe</I>:<DL><DT>1.</DT><DD><LA>Höhe,</LA></DD><DT>2.</DT><DD><LA>Länge.</LA></DD></DL></P>
<P>(2) Näheres regelt § 2.</P></Content></text></textdaten></norm></dokumente>"""
FORMEX = """<?xml version="1.0" encoding="UTF-8"?>
<ACT><BIB.INSTANCE><NO.DOC><NO.CURRENT>7</NO.CURRENT><YEAR>2024</YEAR></NO.DOC></BIB.INSTANCE>
<TITLE><TI><P>VERORDNUNG (EU) 2024/7 über Größen</P></TI></TITLE><ENACTING.TERMS><ARTICLE><TI.ART>Artikel 1</TI.ART>
<PARAG><NO.PARAG>(1)</NO.PARAG><ALINEA><P>Geprüft werden:</P><LIST TYPE="alpha"><ITEM><NP><NO.P>a)</NO.P>
<TXT>die Höhe,</TXT></NP></ITEM></LIST></ALINEA></PARAG></ARTICLE></ENACTING.TERMS></ACT>"""
LEGALDOCML = """<?xml version="1.0" encoding="UTF-8"?>
<akn:akomaNtoso xmlns:akn="http://Inhaltsdaten.LegalDocML.de/1.6/"><akn:act name="regelungstext"><akn:meta>
<akn:identification><akn:FRBRWork><akn:FRBRthis value="eli/x"/><akn:FRBRdate date="2024-01-01"/></akn:FRBRWork>
</akn:identification></akn:meta><akn:preface><akn:longTitle><akn:p><akn:docTitle>Prüfgesetz</akn:docTitle>
<akn:shortTitle>(XPrüfG)</akn:shortTitle></akn:p></akn:longTitle></akn:preface><akn:body><akn:article>
<akn:num>§ 1</akn:num><akn:heading>Zweck</akn:heading><akn:paragraph><akn:num>(1)</akn:num><akn:content>
<akn:p>Geprüft wird die Größe.</akn:p></akn:content></akn:paragraph></akn:article></akn:body></akn:act></akn:akomaNtoso>
"""
PAGE = """<!DOCTYPE html><html lang="de"><head><meta charset="utf-8"/>
<title>L_2024007DE.01000101.xml</title></head><body>
<p class="oj-doc-ti">VERORDNUNG (EU) 2024/7 über Größen</p><p class="oj-ti-art">Artikel 1</p>
<p class="oj-sti-art">Zweck</p><p class="oj-normal">(1) Geprüft wird die Größe.</p></body></html>"""
CATALOG = json.dumps(
    {
        "catalog": {
            "uuid": "5a6fb5f2-0000-4000-8000-000000000000",
            "metadata": {"title": "Prüfkatalog", "last-modified": "2024-01-01T00:00:00Z", "version": "1"},
            "controls": [
                {"id": "xx-1", "title": "Größe", "parts": [{"name": "statement", "prose": "Geprüft wird die Größe."}]}
            ],
        }
    },
    ensure_ascii=False,
)
MARKDOWN = """# Prüfgesetz

## § 1 Zweck

(1) Geprüft wird die Größe.

(2) Näheres regelt § 2.

## § 2 Näheres

(1) Die Höhe.
"""
SAMPLES = {"gii": GII, "formex": FORMEX, "legaldocml": LEGALDOCML, "html": PAGE, "oscal": CATALOG, "text": MARKDOWN}
XML = ("gii", "formex", "legaldocml")


def outcome(path: Path, data: bytes) -> str | None:
    """Return the text of all chunks, or None after a clear refusal; anything else fails."""
    path.write_bytes(data)
    try:
        loaded = load_file(path, LAWS, code="XPRUEFG", document_id="X1")
        return "\n".join(chunk.payload["chunk_text"] for chunk in loaded.chunks())
    except FundstelleError as error:
        message = str(error)
        assert path.name in message
        assert "\n" not in message
        assert len(message) < 800
        return None


@pytest.fixture
def check(tmp_path: Path) -> Callable[[bytes], str | None]:
    return lambda data: outcome(tmp_path / "quelle.dat", data)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sound_file_is_read(name: str, check: Callable[[bytes], str | None]) -> None:
    text = check(SAMPLES[name].encode())
    assert text is not None
    assert "Höhe" in text or "Größe" in text


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_off_at_every_byte(name: str, check: Callable[[bytes], str | None]) -> None:
    """XML, HTML and JSON that are cut off are always noticed; of text nothing before the cut is lost."""
    data = SAMPLES[name].encode()
    for end in range(len(data.rstrip()) - 1):
        text = check(data[:end])
        if name != "text":
            assert text is None or (name == "html" and b"</body" in data[:end]), end


@pytest.mark.parametrize("name", SAMPLES)
def test_pieces_in_any_order(name: str, check: Callable[[bytes], str | None]) -> None:
    rng = random.Random(name)
    lines = SAMPLES[name].replace("><", ">\n<").split("\n")
    for _ in range(150):
        shuffled = list(lines)
        for _ in range(rng.randrange(1, 4)):
            first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
            shuffled[first], shuffled[second] = shuffled[second], shuffled[first]
        check("\n".join(shuffled).encode())


@pytest.mark.parametrize("name", SAMPLES)
def test_bytes_that_changed_on_the_way(name: str, check: Callable[[bytes], str | None]) -> None:
    rng = random.Random(name)
    for _ in range(200):
        data = bytearray(SAMPLES[name].encode())
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        check(bytes(data))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(
    ("encoding", "bom"),
    [
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("latin-1", b""),
        ("cp1252", b""),
    ],
)
def test_an_encoding_other_than_declared_garbles_nothing(
    name: str, encoding: str, bom: bytes, check: Callable[[bytes], str | None]
) -> None:
    text = check(bom + SAMPLES[name].encode(encoding))
    if text is not None:
        assert text == check(SAMPLES[name].encode())


@pytest.mark.parametrize("name", SAMPLES)
def test_nul_bytes_never_end_a_text_silently(name: str, check: Callable[[bytes], str | None]) -> None:
    data = SAMPLES[name].encode()
    whole = check(data)
    assert whole is not None
    for place in range(0, len(data), 37):
        text = check(data[:place] + b"\x00" + data[place:])
        assert text is None or text.replace("\x00", "") == whole or len(text) >= len(whole) - 1, place


BOMBS = {
    "billion laughs": '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">{}]>',
    "its end written with a blank": '<!DOCTYPE x [<!ENTITY a "ha">{}] >',
    "behind a long comment": "<!-- " + "x" * 9000 + ' --><!DOCTYPE x [<!ENTITY a "ha">{}]>',
    "in a DTD with a bracket in it": '<!DOCTYPE x [<!-- ]> --><!ENTITY a "ha">{}]>',
    "of the file system": '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">{}]>',
    "of the network": '<!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1:9/x">{}]>',
    "as a parameter": '<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;<!ENTITY a "ha">{}]>',
    "of an external DTD": '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">',
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", XML)
def test_entities_are_refused_wherever_they_stand(
    name: str, encoding: str, bomb: str, check: Callable[[bytes], str | None]
) -> None:
    """Text behind an entity would be missing, or come from elsewhere."""
    head, body = '<?xml version="1.0"?>', SAMPLES[name].partition("?>")[2]
    body = body.partition(">\n")[2] if name == "gii" else body
    text = head + BOMBS[bomb].format("") + body.replace("Höhe", "&a;").replace("Größe", "&a;")
    assert check(text.encode(encoding)) is None


@pytest.mark.parametrize(
    "depth", [10, 100, 150, 200, 240, 250, 254, 256, 300, 400, 900, 1000, 2000, 2046, 5000, 100_000]
)
@pytest.mark.parametrize("name", ["gii", "formex", "legaldocml", "html", "oscal", "lists"])
def test_deep_nesting(name: str, depth: int, check: Callable[[bytes], str | None]) -> None:
    mark = "Geprüft wird die Größe"
    tags = {
        "gii": ("<I>", "</I>"),
        "formex": ("<HT>", "</HT>"),
        "legaldocml": ("<akn:i>", "</akn:i>"),
        "html": ("<i>", "</i>"),
    }
    if name == "oscal":
        part = '{"name": "item", "prose": "tief", "parts": [' * depth + "]}" * depth
        data = CATALOG.replace('"prose": "Geprüft wird die Größe."', '"prose": "x", "parts": [' + part + "]")
    elif name == "lists":
        data = GII.replace("Höhe,", "<DL><DT>a)</DT><DD><LA>" * depth + "tief" + "</LA></DD></DL>" * depth)
        mark = "Geprüft wird"
    else:
        opening, closing = tags[name]
        inner = opening * depth + "tief" + closing * depth
        source = SAMPLES[name].replace("Höhe,", "Größe.").replace("<I>Größe</I>", "Größe.").replace("Größe.", inner)
        data, mark = source, "tief"
    text = check(data.encode())
    if text is not None:
        assert "tief" in text and (mark in text or name in ("oscal", "formex"))


HEAVY = """
import resource, sys, time
from pathlib import Path
limit = 3 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_CPU, (110, 110))
from ingest.documents import load_file
from normalize.errors import FundstelleError
from normalize.laws import LawTable
try:
    loaded = load_file(Path(sys.argv[1]), LawTable.builtin(), code="XPRUEFG", document_id="X1")
    print("letters", sum(len(chunk.payload["chunk_text"]) for chunk in loaded.chunks()))
except FundstelleError as error:
    print("refused", str(error)[:300])
"""


@pytest.mark.parametrize("megabytes", [100, 8])
@pytest.mark.parametrize("name", SAMPLES)
def test_an_enormous_element(name: str, megabytes: int, tmp_path: Path) -> None:
    """In a process that may have 3 GB and 110 s; a result has all the text."""
    text = "Gemessen wird Wort um Wort. " * (megabytes * 36_000)
    place = {"gii": "Höhe,", "formex": "die Höhe,", "text": "Die Höhe."}.get(name, "Geprüft wird die Größe.")
    source = SAMPLES[name]
    path = tmp_path / "gross.dat"
    path.write_bytes(source.replace(place, text).encode())
    run = subprocess.run(
        [sys.executable, "-c", HEAVY, str(path)], capture_output=True, text=True, cwd=ROOT, timeout=240, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    verdict, _, rest = run.stdout.strip().partition(" ")
    assert verdict in ("letters", "refused")
    if verdict == "letters":
        assert int(rest) >= len(text.strip()) * 0.96  # blanks between chunks
    else:
        assert "gross.dat" in rest


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400), name=st.sampled_from(sorted(SAMPLES)), at=st.floats(0, 1))
def test_any_bytes_anywhere(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str, at: float) -> None:
    source = SAMPLES[name].encode()
    place = int(at * len(source))
    outcome(tmp_path_factory.getbasetemp() / "irgendwas.dat", source[:place] + data + source[place:])


# --- Plain text and JSON lines -------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_plain_text_in_every_encoding_with_a_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("Größe".encode(encoding))
    assert read_plain(tmp_path / "a.txt") == "Größe"


@pytest.mark.parametrize("data", ["Größe".encode("latin-1"), b"\xff\xfeG\x00r"])
def test_text_in_no_encoding_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(SourceError, match="neither UTF-8 text nor a PDF"):
        read_plain(tmp_path / "a.txt")


def test_only_a_line_feed_ends_a_json_line() -> None:
    text = "vor\u2028nach\u0085und\x0cweiter"
    data = json.dumps({"chunk_text": text}, ensure_ascii=False).encode()
    assert [row["chunk_text"] for row in json_lines(data + b"\r\n\n" + data, "alt.jsonl")] == [text, text]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": "Gr\xf6\xdfe"}', "line 2 is not UTF-8"),
        (b'{"a": "\\ud83d"}', "line 2 holds a lone surrogate"),
        (b'{"a": ', "line 2 is no JSON"),
        (b"[1]", "line 2 is no JSON object"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "line 2 cannot be read"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "line 2 cannot be read"),
    ],
)
def test_a_damaged_json_line_is_named(line: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        list(json_lines(b'{"a": 1}\n' + line, "alt.jsonl"))


def test_the_limits_of_this_process_are_untouched() -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
