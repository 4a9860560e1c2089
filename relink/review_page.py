"""The review as one self-contained HTML page: it loads nothing, sends nothing, and works from a file.

All texts are data: they stand as JSON in a block that no browser runs, and reach the page as text only. A content
security policy allows the page's one script, by its digest, and nothing else.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from relink.report import coverage_share
from relink.review import ReviewItem

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 80rem; padding: 0 1rem 3rem; }
header { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; padding: .75rem 0; position: sticky; top: 0;
  background: Canvas; border-bottom: 1px solid GrayText; z-index: 1; }
h1 { font-size: 1.1rem; margin: 0; }
label { font-size: .9rem; }
button, input, select { font: inherit; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.quotation, .candidate { border: 1px solid GrayText; border-radius: .4rem; padding: .6rem .8rem; margin: .75rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.quotation { position: sticky; top: 4rem; align-self: start; }
.candidate { cursor: pointer; }
.candidate.chosen { outline: 3px solid #1f7a3f; }
.none { font-weight: 600; }
.head { display: flex; justify-content: space-between; font-weight: 600; }
.meta { color: GrayText; font-size: .9rem; }
ins, del { text-decoration: none; border-radius: .2rem; }
ins { background: #b7e4c7; color: #10381f; border-bottom: 2px solid #1f7a3f; }
del { background: #f6c6c6; color: #5a1010; border-bottom: 2px dotted #a11; }
mark { background: #fff3bf; color: #3d3200; }
kbd { border: 1px solid GrayText; border-radius: .2rem; padding: 0 .3rem; font-size: .85rem; }
table { border-collapse: collapse; margin: .5rem 1.5rem .5rem 0; display: inline-table; vertical-align: top; }
th, td { text-align: left; padding: .1rem .6rem .1rem 0; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
@media (max-width: 50rem) { .pair { grid-template-columns: 1fr; } .quotation { position: static; } }
"""

_SCRIPT = """
'use strict';
(function () {
  const items = JSON.parse(document.getElementById('items').textContent);
  const decisions = new Map();
  const byId = (id) => document.getElementById(id);
  let shown = [];
  let at = 0;
  let unsaved = false;

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) { made.className = className; }
    if (text !== undefined && text !== null) { made.textContent = String(text); }
    return made;
  }

  function words(text) { return text.match(/[\\p{L}\\p{N}]+|\\s+|[^\\p{L}\\p{N}\\s]/gu) || []; }

  // Which words of two texts are in a longest common subsequence.
  function common(a, b) {
    const width = b.length + 1;
    const length = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        length[i * width + j] = a[i] === b[j]
          ? length[(i + 1) * width + j + 1] + 1
          : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
      }
    }
    const inA = new Set();
    const inB = new Set();
    let i = 0;
    let j = 0;
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) { inA.add(i); inB.add(j); i += 1; j += 1; }
      else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) { i += 1; } else { j += 1; }
    }
    return [inA, inB];
  }

  function append(parent, parts, kept, tag) {
    let run = '';
    let plain = true;
    const flush = () => {
      if (run) { parent.append(plain ? document.createTextNode(run) : element(tag, '', run)); }
      run = '';
    };
    parts.forEach((part, i) => {
      const same = kept.has(i) || /^\\s+$/.test(part);
      if (same !== plain) { flush(); plain = same; }
      run += part;
    });
    flush();
  }

  // Python counts characters, a script UTF-16 units.
  function cut(text, from, to) { return Array.from(text).slice(from, to).join(''); }

  // The characters a candidate covers, with the punctuation that letters cannot tell.
  function spanOf(candidate) {
    const span = candidate.span;
    if (!span || span[0] === null || span[0] > span[1]) { return [0, Infinity]; }
    const characters = Array.from(candidate.text);
    let [from, to] = span;
    const mark = (i) => i >= 0 && i < characters.length && /[^\\p{L}\\p{N}\\s]/u.test(characters[i]);
    while (mark(from - 1)) { from -= 1; }
    while (mark(to)) { to += 1; }
    return [from, to];
  }

  function filtered() {
    const outcome = byId('outcome').value;
    const open = byId('open').checked;
    return items.filter((item) => (outcome === '' || item.outcome === outcome)
      && !(open && decisions.has(item.control_uuid)));
  }

  function candidateBox(item, candidate, number) {
    const chosen = decisions.get(item.control_uuid);
    const box = element('section', 'candidate');
    box.dataset.number = number;
    if (chosen && chosen.number === number) { box.classList.add('chosen'); }
    const head = element('div', 'head');
    head.append(element('span', '', number + '  ' + (candidate.article_label || '(no label)')));
    const score = candidate.similarity === null || candidate.similarity === undefined ? '' : candidate.similarity;
    head.append(element('span', 'meta', score));
    box.append(head);
    const text = candidate.text;
    if (text === null || text === undefined) {
      box.append(element('div', 'meta', 'The chunk is in no collection any more.'));
    } else {
      const [from, to] = spanOf(candidate);
      const body = element('div');
      const a = words(item.quotation);
      const b = words(cut(text, from, to));
      body.append(document.createTextNode(cut(text, 0, from)));
      const span = element('span');
      if (a.length * b.length > 4e6) { span.append(element('mark', '', b.join(''))); }
      else { append(span, b, common(a, b)[1], 'ins'); }
      body.append(span);
      body.append(document.createTextNode(cut(text, to, Infinity)));
      box.append(body);
    }
    box.addEventListener('click', () => choose(number));
    return box;
  }

  function show() {
    shown = filtered();
    at = Math.max(0, Math.min(at, shown.length - 1));
    const place = byId('item');
    place.replaceChildren();
    byId('position').textContent = shown.length ? (at + 1) + ' of ' + shown.length : 'nothing to show';
    byId('count').textContent = decisions.size + ' decided';
    byId('download').disabled = decisions.size === 0;
    if (!shown.length) { return; }
    const item = shown[at];
    place.append(element('h2', '', item.title || item.control_uuid));
    const facts = [item.control_uuid, item.outcome, item.reason, item.regulation].filter(Boolean).join(' · ');
    place.append(element('p', 'meta', facts));
    const pair = element('div', 'pair');
    const quotation = element('section', 'quotation');
    quotation.id = 'quotation';
    const first = item.candidates.find((candidate) => candidate.text);
    const a = words(item.quotation);
    const b = first ? words(cut(first.text, ...spanOf(first))) : [];
    if (first && a.length * b.length <= 4e6) { append(quotation, a, common(a, b)[0], 'del'); }
    else { quotation.textContent = item.quotation; }
    pair.append(quotation);
    const list = element('div');
    item.candidates.forEach((candidate, i) => list.append(candidateBox(item, candidate, i + 1)));
    const none = element('section', 'candidate none', '0  None of them');
    none.dataset.number = 0;
    const chosen = decisions.get(item.control_uuid);
    if (chosen && chosen.number === 0) { none.classList.add('chosen'); }
    none.addEventListener('click', () => choose(0));
    list.append(none);
    pair.append(list);
    place.append(pair);
  }

  function choose(number) {
    const item = shown[at];
    if (!item || number > item.candidates.length) { return; }
    const candidate = number ? item.candidates[number - 1] : null;
    decisions.set(item.control_uuid, {
      number: number,
      line: {
        control_uuid: item.control_uuid,
        state: item.state,
        chunk_id: candidate ? candidate.chunk_id : null,
        article_label: candidate ? candidate.article_label : null,
        decided_at: new Date().toISOString(),
      },
    });
    unsaved = true;
    show();
  }

  function clear() {
    const item = shown[at];
    if (item) { decisions.delete(item.control_uuid); show(); }
  }

  function move(by) { at += by; show(); window.scrollTo(0, 0); }

  function lines() {
    const reviewer = byId('reviewer').value.trim();
    return items.filter((item) => decisions.has(item.control_uuid)).map((item) => {
      const line = Object.assign({}, decisions.get(item.control_uuid).line);
      if (reviewer) { line.reviewer = reviewer; }
      return JSON.stringify(line) + '\\n';
    }).join('');
  }

  function download() {
    if (!decisions.size) { return; }
    const link = element('a');
    link.href = URL.createObjectURL(new Blob([lines()], { type: 'application/x-ndjson' }));
    link.download = 'decisions.jsonl';
    document.body.append(link);
    link.click();
    link.remove();
    unsaved = false;
  }

  function cycleFilter() {
    const select = byId('outcome');
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    at = 0;
    show();
  }

  [...new Set(items.map((item) => item.outcome))].sort().forEach((outcome) => {
    const option = element('option', '', outcome);
    option.value = outcome;
    byId('outcome').append(option);
  });
  byId('outcome').addEventListener('change', () => { at = 0; show(); });
  byId('open').addEventListener('change', () => { at = 0; show(); });
  byId('next').addEventListener('click', () => move(1));
  byId('previous').addEventListener('click', () => move(-1));
  byId('download').addEventListener('click', download);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    if (event.target instanceof HTMLInputElement && event.target.type === 'text') { return; }
    if (event.target instanceof HTMLSelectElement) { return; }
    const keys = {
      j: () => move(1), ArrowRight: () => move(1), k: () => move(-1), ArrowLeft: () => move(-1),
      u: clear, f: cycleFilter, d: download, n: () => choose(0),
    };
    if (/^[0-9]$/.test(event.key)) { choose(Number(event.key)); event.preventDefault(); }
    else if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  window.addEventListener('beforeunload', (event) => { if (unsaved) { event.preventDefault(); } });
  show();
}());
"""


def review_page(items: Sequence[ReviewItem], report: Mapping[str, Any]) -> str:
    """Return the page of some items, with the report of `report.link_report`; the same input gives the same bytes."""
    data = json.dumps([item.as_dict() for item in items], ensure_ascii=False, sort_keys=True)
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>fundstelle: review</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>Review</h1>
<label>Outcome <select id="outcome"><option value="">all</option></select></label>
<label><input type="checkbox" id="open"> undecided only</label>
<button id="previous" type="button">Previous <kbd>k</kbd></button>
<span id="position" role="status"></span>
<button id="next" type="button">Next <kbd>j</kbd></button>
<label>Reviewer <input type="text" id="reviewer" maxlength="200" autocomplete="name"></label>
<button id="download" type="button" disabled>Download decisions <kbd>d</kbd></button>
<span id="count"></span>
</header>
<p class="meta">Choose with <kbd>1</kbd> to <kbd>9</kbd>, <kbd>0</kbd> for none of them, <kbd>u</kbd> takes a choice
back, <kbd>f</kbd> filters by outcome. Then: fundstelle review import decisions.jsonl</p>
<main id="item"></main>
<details id="report"><summary>Report: {coverage_share(dict(report)):.1%} of {report["controls"]:,} controls have a
citation</summary>
{_report(report)}
</details>
<script type="application/json" id="items">{_inert(data)}</script>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _inert(data: str) -> str:
    """Return JSON that cannot end its block: what HTML or a script could read as syntax is escaped."""
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


def _report(report: Mapping[str, Any]) -> str:
    before, after = report["before"], report["after"]
    tables = [
        _table(("Outcome", "Tier", "Controls"), [(r["outcome"], r["tier"], r["controls"]) for r in report["coverage"]]),
        _table(
            ("Left because", "Outcome", "Controls"),
            [(r["reason"], r["outcome"], r["controls"]) for r in report["left"]],
        ),
        _table(("Similarity from", "Linked"), [(f"{r['from']:.2f}", r["controls"]) for r in report["scores"]]),
        _table(
            ("", "Before", "After"),
            [
                ("with a citation", before["cited"], after["cited"]),
                ("with a label", before["with_label"], after["with_label"]),
            ],
        ),
        _table(
            ("Regulation", "Controls", "With a citation"),
            [(r["regulation"], r["controls"], r["cited"]) for r in report["regulations"]],
        ),
    ]
    return "\n".join(tables)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{html.escape('' if value is None else str(value))}</td>"
