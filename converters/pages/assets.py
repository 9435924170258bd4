"""The parts of every page beside its text: the style, the script, and the policy that allows no other script."""

from __future__ import annotations

import base64
import hashlib

STYLE = """
:root { color-scheme: light dark; --line: #8888; --shade: #8882; --good: #176f2c; --doubt: #8a5300; --bad: #b3192b;
  --quiet: #555; background: Canvas; color: CanvasText }
@media (prefers-color-scheme: dark) { :root { --good: #6fd388; --doubt: #f0b35a; --bad: #ff8a92; --quiet: #bbb } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 84rem; margin: auto; padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.35rem; line-height: 1.3; margin: .3rem 0 }
nav ul { padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none }
h2 { font-size: 1.25rem; margin-top: 2.2rem } h3 { display: inline; font-size: 1rem }
.title, .note, small, caption, figcaption { color: var(--quiet) } .title { margin: 0 0 1rem }
.note, small { font-size: .85rem } small { display: block }
caption { text-align: left; padding-bottom: .2rem } caption, figcaption { font-size: .9rem }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
thead th { background: var(--shade) } td:first-child { min-width: 8rem }
.number { text-align: right; white-space: nowrap }
code span { white-space: nowrap }
.mark { font-weight: 600 } .mark, th { overflow-wrap: break-word }
.good { color: var(--good) } .doubt { color: var(--doubt) } .bad { color: var(--bad) }
.lane { width: min(40rem, 50vw) } .bar { border-top: .9rem solid; min-width: 2px; margin-top: .25rem; opacity: .7 }
section > details { border-bottom: 1px solid var(--line); padding: .4rem 0 } summary { cursor: pointer }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: .3rem;
  padding: .1rem .6rem; cursor: pointer } button[aria-pressed=true] { background: var(--shade); font-weight: 600 }
th button { border: 0; padding: 0; font-weight: inherit; text-align: inherit }
th[aria-sort=ascending] button::after { content: " ▲" } th[aria-sort=descending] button::after { content: " ▼" }
.filter { display: flex; flex-wrap: wrap; gap: .4rem; margin: .8rem 0 } [hidden] { display: none !important }
figure { margin: .8rem 0; overflow-x: auto }
img { display: block; max-width: 100%; max-height: 36rem; background: white }
svg { display: block; max-width: 100%; height: auto; font: 13px system-ui, sans-serif }
svg text { fill: currentColor; text-anchor: middle } svg .about { font-size: 11px }
svg path, svg rect { fill: none; stroke: currentColor } svg .resize { fill: var(--shade); stroke-width: 2.5 }
@media (prefers-color-scheme: dark) { img.drawing { filter: invert(.87) } }
@media (max-width: 44rem) {
  img, svg.wide { max-width: none } .lane { width: 30vw }
  th, td { padding: .3rem .4rem } td:first-child { min-width: 5.5rem }
  .stacks td:first-child { min-width: 0 }
  .stacks thead, .stacks td:empty { display: none } .stacks, .stacks tbody, .stacks caption { display: block }
  .stacks tr { display: block; border: 1px solid var(--line); margin: .6rem 0 }
  .stacks td { display: flow-root; border: 0; padding-left: 8.5rem; text-align: left; white-space: normal }
  .stacks td::before { content: attr(data-title); float: left; width: 7.4rem; margin-left: -7.9rem;
    color: var(--quiet) }
}
@media print { body { max-width: none; font-size: 9pt } tr, figure { break-inside: avoid } h2 { break-after: avoid }
  .filter { display: none } }
"""

SCRIPT = """
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const button = (content, act) => {
  const made = document.createElement("button");
  made.type = "button"; made.append(...content); made.addEventListener("click", act);
  return made;
};
const value = (row, column) => row.cells[column].textContent.trim();
const compare = (a, b) => a - b || (isNaN(a - b) ? a.localeCompare(b, "en", { numeric: true }) : 0);
for (const table of all("table.sorts")) {
  const heads = all("thead th", table), body = table.tBodies[0];
  heads.forEach((head, column) => head.append(button([...head.childNodes], () => {
    const falls = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(each => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)));
    body.append(...(falls ? rows.reverse() : rows));
  })));
}
const marked = all("[data-verdicts]");
const words = [...new Set(marked.flatMap(each => each.dataset.verdicts.split(",")))];
if (words.length > 1 && marked.length > 1) {
  const group = document.createElement("div");
  group.className = "filter"; group.setAttribute("role", "group"); group.setAttribute("aria-label", "Show resizes");
  for (const word of ["all", ...words]) {
    group.append(button([word], event => {
      for (const each of marked) each.hidden = word !== "all" && !each.dataset.verdicts.split(",").includes(word);
      for (const each of group.children) each.setAttribute("aria-pressed", each === event.target);
    }));
  }
  group.firstChild.setAttribute("aria-pressed", "true");
  (marked[0].closest("table") ?? marked[0]).before(group);
}
addEventListener("beforeprint", () => all("details").forEach(each => { each.open = true; }));
"""

_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode("ascii")

POLICY = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'"
"""The policy of a page: it may show the pictures that it holds, and run the one script."""
