"""The style sheet of a report: light and dark, phone and paper. Colours are those of Okabe and Ito."""

_LIGHT = """--paper:#fff; --ink:#1b1b1b; --soft:#5b6168; --line:#d9dde1; --panel:#f5f7f9; --mark:#fff3d6;
--blue:#0072b2; --red:#c14a00; --green:#00785a; --dot:#1b1b1b; --range:#e9eef3; --warn:#c14a00"""
_DARK = """--paper:#15181b; --ink:#e8eaed; --soft:#a2a9b0; --line:#363c42; --panel:#1e2327; --mark:#3a3216;
--blue:#56b4e9; --red:#ff8c42; --green:#3fd1a6; --dot:#e8eaed; --range:#252c33; --warn:#ff8c42"""

STYLE = f"""
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
* {{ box-sizing: border-box }}
body {{ margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere }}
h1 {{ font-size: 1rem; font-weight: 600; color: var(--soft); margin: 0 0 .5rem }}
h2 {{ font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line) }}
h3 {{ font-size: 1rem; margin: 1.2rem 0 .3rem }}
p {{ margin: .5rem 0; max-width: 44rem }}
.soft {{ color: var(--soft); font-size: .9rem }}
.formula {{ display: flex; flex-wrap: wrap; align-items: center; gap: .35em .3em; max-width: 100%; overflow-x: auto;
  overflow-y: hidden; overflow-wrap: normal; padding: .3rem 0 }}
.formula span {{ max-width: 100%; overflow-x: auto; overflow-y: hidden; padding: .1em 0 }}
header .formula {{ font-size: 1.6rem }}
math {{ font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math, serif }}
code, pre {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .86em }}
pre {{ background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem;
  white-space: pre-wrap; margin: .4rem 0 1rem }}
.numbers {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .5rem; margin: 1rem 0 }}
.numbers div {{ background: var(--panel); border-radius: 6px; padding: .5rem .7rem }}
.numbers dt {{ color: var(--soft); font-size: .85rem }}
.numbers dd {{ margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; white-space: nowrap }}
.outcome {{ font-size: 1.05rem }}
.caveats {{ border-left: 4px solid var(--warn); background: var(--panel); padding: .6rem .8rem .6rem 1.8rem;
  margin: .6rem 0; border-radius: 0 6px 6px 0 }}
.charts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem }}
figure {{ margin: .5rem 0; max-width: 32rem }}
figcaption {{ font-size: .88rem; color: var(--soft) }}
svg.chart {{ display: block; width: 100%; height: auto }}
svg text {{ font: 11px system-ui, sans-serif; fill: var(--soft) }}
svg text.label {{ font-size: 12px; fill: var(--ink) }}
svg .frame {{ fill: none; stroke: var(--soft) }}
svg .grid {{ stroke: var(--line); stroke-width: .7 }}
svg .range {{ fill: var(--range) }}
svg .curve {{ fill: none; stroke: var(--blue); stroke-width: 2 }}
svg .outside {{ stroke-dasharray: 5 3; stroke-width: 1.6 }}
svg .equal {{ fill: none; stroke: var(--soft); stroke-dasharray: 4 3 }}
svg .step {{ fill: none; stroke: var(--soft); stroke-width: 1.3 }}
svg .points {{ fill: none; stroke: var(--dot); stroke-width: 4; stroke-linecap: round; stroke-opacity: .65 }}
svg .large {{ stroke: var(--blue); stroke-width: 8; stroke-opacity: 1 }}
svg .beyond {{ fill: none; stroke: var(--dot) }}
svg .ring {{ fill: none; stroke: var(--red); stroke-width: 2.5 }}
svg .pole {{ stroke: var(--red); stroke-width: 1.6; stroke-dasharray: 6 3 }}
svg .log-singularity {{ stroke: var(--red); stroke-width: 1.6; stroke-dasharray: 7 3 1.5 3 }}
svg .edge {{ stroke: var(--green); stroke-width: 1.8; stroke-dasharray: 1.5 3 }}
.scroll {{ overflow-x: auto }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line) }}
th {{ font-size: .85rem; color: var(--soft); font-weight: 600; overflow-wrap: normal }}
td:not(:last-child) {{ white-space: nowrap }}
td:first-child, th:first-child {{ padding-left: .5rem }}
td small {{ color: var(--soft) }}
details {{ margin: 1rem 0 }}
summary {{ cursor: pointer }}
.struck {{ padding-left: 1.2rem }}
.struck li {{ margin: .5rem 0 }}
tr.chosen td {{ background: var(--mark) }}
dl {{ margin: .4rem 0 }}
section dl div {{ display: flex; gap: .8rem; padding: .2rem 0; border-bottom: 1px solid var(--line) }}
section dt {{ flex: 0 0 10.5rem; color: var(--soft); overflow-wrap: normal }}
section dd {{ margin: 0; flex: 1 }}
@media (max-width: 30rem) {{
  body {{ padding: 1rem .8rem 2rem }}
  header .formula {{ font-size: 1.25rem }}
  section dt {{ flex-basis: 9rem }}
}}
@media print {{
  :root {{ color-scheme: light; {_LIGHT} }}
  body {{ max-width: none; padding: 0; font-size: 10.5pt }}
  figure, tr, pre, .caveats {{ break-inside: avoid }}
  .charts {{ grid-template-columns: 1fr 1fr }}
  .scroll, .formula, .formula span {{ overflow: visible }}
  h2 {{ break-after: avoid }}
}}
"""
