"""What looks like a source but is none is refused with one sentence: what, where, what to do."""

from pathlib import Path

import pytest

from ingest.sources.detect import read_act
from normalize.errors import SourceError

GII = b'<dokumente builddate="20240101" doknr="X"><norm><metadaten><jurabk>X</jurabk></metadaten></norm></dokumente>'
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;">]>'
    b"<dokumente><norm><metadaten><jurabk>&c;</jurabk></metadaten></norm></dokumente>"
)
EXTERNAL = b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]><dokumente><norm>&x;</norm></dokumente>'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "HTML page"),
        (b"\n<html lang='de'><head><title>Fehler</title></head></html>", "HTML page"),
        (b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', "HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 10\n", "Git LFS pointer"),
        (b"PK\x03\x04\x00\x00\x00", "binary file"),
        (b"Einfach nur Text.", "no XML"),
        (b"<rss><channel/></rss>", "root <rss>"),
        (GII[:-20], "not well-formed"),
        (GII.replace(b"<jurabk>X</jurabk>", b""), "no <jurabk>"),
        (b"<dokumente/>", "no gii-norm law"),
        (b"<ACT><ENACTING.TERMS/></ACT>", "neither an article nor an annex"),
        (BOMB, "declares XML entities"),
        (EXTERNAL, "declares XML entities"),
        (b'<?xml version="1.0" encoding="UTF-8"?><dokumente><norm>\xff\xfe\xfa</norm></dokumente>', "not well-formed"),
        (b"<dokumente>" + b"<norm>" * 100_000, "not well-formed"),
    ],
)
def test_refused_in_one_sentence(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError) as refused:
        read_act(data, "quelle.xml")
    message = str(refused.value)
    assert reason in message and message.startswith("quelle.xml") and "\n" not in message


def test_the_manifests_format_must_agree() -> None:
    with pytest.raises(SourceError, match="gii, but the manifest says format 'formex'"):
        read_act(GII, "quelle.xml", "formex")


def test_an_entity_in_the_text_is_never_expanded_from_disk(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("GEHEIM")
    data = EXTERNAL.replace(b"/etc/hostname", str(secret).encode())
    with pytest.raises(SourceError) as refused:
        read_act(data, "quelle.xml")
    assert "GEHEIM" not in str(refused.value)
