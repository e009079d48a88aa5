"""A system as one HTML page that needs nothing else: no network, no plotting library."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ceql.dynamics.analysis import Behaviour, held_in_words
from ceql.dynamics.courses import Course
from ceql.dynamics.finding import DynamicsFinding, Fitted
from ceql.dynamics.frames import complexity, eigenvalues_in_words, left_side, mean_r2
from ceql.dynamics.page_charts import course_charts, phase_charts
from ceql.dynamics.rounding import shown_system
from ceql.dynamics.source import SYSTEM_LANGUAGES, system_source
from ceql.dynamics.summary import doubts, ends_in_words, equations_in_words, sentences_on
from ceql.dynamics.system import System
from ceql.expression.text.mathml import terms_as_mathml
from ceql.output.report.laws import error_cell
from ceql.output.report.markup import (
    bullets,
    code_block,
    collapsed,
    definitions,
    escape,
    formula_in_terms,
    number,
    paragraph,
    section,
    table,
)
from ceql.output.report.page import content_hash, made_with
from ceql.output.report.reproduce import in_python
from ceql.output.web.files import STYLES, joined

_MOST_SYSTEMS = 12
_MATHML = "http://www.w3.org/1998/Math/MathML"
_STYLE = """
svg .arrows { fill: none; stroke: var(--soft); stroke-width: 0.8; stroke-opacity: 0.55; }
svg .null-x { fill: none; stroke: var(--blue); stroke-width: 1.4; stroke-dasharray: 6 3; }
svg .null-y { fill: none; stroke: #cc79a7; stroke-width: 1.4; stroke-dasharray: 6 2 1.5 2; }
svg .path { fill: none; stroke: #e69f00; stroke-width: 2; }
svg .attracts { fill: var(--green); stroke: var(--ink); }
svg .repels { fill: var(--paper); stroke: var(--red); stroke-width: 2.5; }
svg .turns { fill: var(--paper); stroke: var(--blue); stroke-width: 2.5; }
.charts.single { max-width: 42rem; }
"""
_OPTIONS = {
    "operators": "--operators",
    "time_limit": "--time-limit",
    "per_trajectory": "--per-trajectory",
    "random_state": "--seed",
    "threads": "--threads",
    "order": "--order",
}


@dataclass(frozen=True, eq=False)
class SystemSubject:
    """What a page is about."""

    finding: DynamicsFinding
    along: Sequence[Course]  # with times between the samples
    found: Behaviour
    parameters: Mapping[str, Any]  # of the regressor
    defaults: Mapping[str, Any]
    trajectory: str | None  # the column that names the trajectories
    table: str  # the file that the data came from, as far as it is known


def system_page(subject: SystemSubject) -> str:
    """One HTML document that refers to nothing outside itself and has no scripts."""
    parts = (_header, _careful, _courses, _phase, _fixed_points, _constants, _initial, _systems, _sources, _how, _again)
    inside = "\n".join(part(subject) for part in parts)
    style = f"\n{joined(STYLES)}{_STYLE}"
    allowed = f"default-src 'none'; style-src '{content_hash(style)}'; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(_title(subject))}</title>
<style>{style}</style>
</head>
<body>
{inside}
</body>
</html>
"""


def _title(subject: SystemSubject) -> str:
    names = subject.finding.series.states
    return f"Differential equation{'s' if len(names) > 1 else ''} for {', '.join(names)}"


def _header(subject: SystemSubject) -> str:
    finding = subject.finding
    series, best = finding.series, finding.best
    pairs = [
        *((f"R², {name}", number(score, 6)) for name, score in zip(series.states, best.r2, strict=True)),
        *([("R², held out", number(finding.r2_held_out, 6))] if finding.r2_held_out is not None else []),
        *((f"residual, {name}", number(float(left), 3)) for name, left in zip(series.states, best.noise, strict=True)),
        ("samples", f"{series.samples:,}"),
        ("trajectories", f"{len(series.trajectories):,}"),
        ("weight", number(best.weight, 2)),
        ("time of the search", f"{finding.seconds:.1f} s"),
    ]
    told = paragraph(finding.how, "outcome")
    lines = code_block("\n".join(equations_in_words(best)))
    return f"<header>\n<h1>{escape(_title(subject))}</h1>\n{_typeset(shown_system(best))}\n{lines}\n" + (
        f"{definitions(pairs, 'numbers')}\n{told}\n</header>"
    )


def _typeset(system: System) -> str:
    """Every equation with a fraction of differentials on its left."""
    rows = []
    for state, formula in zip(system.states, system.formulas, strict=True):
        above, below = (f"<mrow><mo>d</mo><mi>{escape(name)}</mi></mrow>" for name in (state, system.time))
        left = f'<math xmlns="{_MATHML}"><mfrac>{above}{below}</mfrac><mo>=</mo></math>'
        terms = "".join(f"<span>{term}</span> " for term in terms_as_mathml(formula.shown))
        rows.append(f'<div class="formula"><span>{left}</span> {terms}</div>')
    return "\n".join(rows)


def _careful(subject: SystemSubject) -> str:
    finding = subject.finding
    told = [
        *sentences_on(subject.found),
        *ends_in_words(finding.series.time, subject.along),
        *doubts(finding),
        *finding.notes,
    ]
    calm = (
        "No right-hand side has a pole or an edge of its domain within the data, or within half their range beyond "
        "them."
    )
    return section("Where to be careful", bullets(told, "caveats") if told else paragraph(calm))


def _courses(subject: SystemSubject) -> str:
    charts, remark = course_charts(subject.finding, subject.along)
    words = "Dots are measured, lines are the system, simulated from the fitted initial state of each trajectory."
    figures = "".join(f"<figure>{chart}<figcaption>{escape(words)}</figcaption></figure>" for words, chart in charts)
    return section(
        "Measured and simulated",
        paragraph(words),
        f'<div class="charts{" single" if len(charts) == 1 else ""}">{figures}</div>',
        paragraph(remark, "soft") if remark else "",
    )


def _phase(subject: SystemSubject) -> str:
    charts = phase_charts(subject.finding, subject.along, subject.found)
    count = len(subject.finding.system.states)
    words = {
        1: "The slope against the state; the state is at rest where the curve crosses zero. The range of the data "
        "is shaded.",
        2: "Arrows show where states move; on the dashed lines one of the two slopes is zero, and they meet in "
        "fixed points. A filled ring marks a stable point, a hollow red one an unstable point, a hollow blue one "
        "a centre, which states circle.",
    }
    held = held_in_words(subject.found.system, subject.found.around)
    told = words.get(count, "Pairs of states, with the fixed points within the data.")
    told += f" Inputs are held at their means: {held}." if held else ""
    figures = "".join(f"<figure>{chart}<figcaption>{escape(name)}</figcaption></figure>" for name, chart in charts)
    kind = "charts single" if count <= 2 else "charts"
    return section("States among each other", paragraph(told), f'<div class="{kind}">{figures}</div>')


def _fixed_points(subject: SystemSubject) -> str:
    found = subject.found
    if not found.fixed_points:
        moves = subject.finding.system.depends_on_time
        words = (
            "The equations depend on the time, so there are no fixed points." if moves else "None in and near the data."
        )
        return section("Fixed points", paragraph(words))
    rows = [
        (
            *(number(float(value), 6) for value in point.state),
            escape(point.kind),
            escape(eigenvalues_in_words(point)).replace("-", "−"),
            "yes" if point.inside else "no",
        )
        for point in found.fixed_points
    ]
    head = (*found.system.states, "kind", "eigenvalues", "within the data")
    return section("Fixed points", table(head, rows))


def _constants(subject: SystemSubject) -> str:
    best = subject.finding.best
    parts = []
    for k in best.system.searched:
        state, formula = best.system.states[k], best.system.formulas[k]
        own = [constant for constant in best.constants if constant.state == state]
        if own:
            parts.append(formula_in_terms(formula.named, left_side(best.system, state)))
            parts.append(_constant_table(best, state))
    if not parts:
        return section("Constants", paragraph("The equations have no decimal constants."))
    words = (
        "Standard errors from the residuals of the simulated trajectories, as if these were independent noise and "
        "the form of the equations were certain."
    )
    return section("Constants", *parts, paragraph(words, "soft"))


def _constant_table(fitted: Fitted, state: str) -> str:
    own = [constant for constant in fitted.constants if constant.state == state]
    is_split = any(constant.trajectory is not None for constant in own)
    rows = [
        (
            escape(constant.name),
            *((escape(constant.trajectory or "all"),) if is_split else ()),
            number(constant.value, 10),
            error_cell(constant.error),
        )
        for constant in own
    ]
    head = ("constant", *(("trajectory",) if is_split else ()), "value", "standard error")
    return table(head, rows)


def _initial(subject: SystemSubject) -> str:
    series, best = subject.finding.series, subject.finding.best
    rows = []
    for place, trajectory in enumerate(series.trajectories):
        pairs = zip(best.initial[place], best.initial_errors[place], strict=True)
        cells = [cell for value, error in pairs for cell in (number(float(value), 8), error_cell(float(error)))]
        rows.append((escape(trajectory.label or "the only one"), number(float(trajectory.time[0]), 8), *cells))
    head = ("trajectory", series.time, *(cell for name in best.system.states for cell in (name, "standard error")))
    return section("Initial states", table(head, rows))


def _systems(subject: SystemSubject) -> str:
    finding = subject.finding
    rows = []
    for fitted in finding.systems[:_MOST_SYSTEMS]:
        equations = "<br>".join(f"<code>{escape(line)}</code>" for line in equations_in_words(fitted))
        rows.append((number(fitted.weight, 2), number(mean_r2(fitted), 6), str(complexity(fitted.system)), equations))
    words = (
        "All of them were fitted to the trajectories. Weights say how likely a system is among these, judging by "
        "the samples; the marked one was chosen."
    )
    head = ("weight", "R², mean", "nodes", "equations")
    return section("The systems that were compared", paragraph(words), table(head, rows, marked=0))


def _sources(subject: SystemSubject) -> str:
    names = {"python": "Python, for SciPy", "julia": "Julia", "c": "C", "latex": "LaTeX", "text": "Text"}
    parts = [
        collapsed(names[language], code_block(system_source(subject.found.system, language), "copied"))
        for language in SYSTEM_LANGUAGES
        if language != "text"
    ]
    return section("As a right-hand side", *parts)


def _how(subject: SystemSubject) -> str:
    settings = [(name, in_python(value)) for name, value in subject.parameters.items() if name != "verbose"]
    return section("How it was found", definitions(settings), paragraph(made_with(), "soft"))


# ---- how to find it again -----------------------------------------------------------------------------------------


def _again(subject: SystemSubject) -> str:
    words = "The same data, settings and seed give the same system, unless the clock ends the search."
    return section(
        "How to repeat it",
        paragraph(words),
        code_block(python_lines(subject), "copied"),
        code_block(command_line(subject), "copied"),
    )


def _chosen(subject: SystemSubject) -> dict[str, Any]:
    """Parameters that are not at their default, and the seed."""
    return {
        name: value
        for name, value in subject.parameters.items()
        if name != "verbose" and (name == "random_state" or in_python(value) != in_python(subject.defaults.get(name)))
    }


def python_lines(subject: SystemSubject) -> str:
    series = subject.finding.series
    settings = ", ".join(f"{name}={in_python(value)}" for name, value in _chosen(subject).items())
    columns = f"time={series.time!r}, states={list(series.states)!r}"
    columns += f", inputs={list(series.inputs)!r}" if series.inputs else ""
    columns += f", trajectory={subject.trajectory!r}" if subject.trajectory else ""
    return "\n".join(
        [
            "import pandas as pd",
            "",
            "from ceql import ODERegressor",
            "",
            f"table = pd.read_csv({subject.table!r}, skipinitialspace=True)",
            f"model = ODERegressor({settings}).fit(table, {columns})",
            "print(model.text())",
        ]
    )


def command_line(subject: SystemSubject) -> str:
    series = subject.finding.series
    words = ["ceql", "ode", subject.table, "--time", series.time, "--state", ",".join(series.states)]
    words += ["--input", ",".join(series.inputs)] if series.inputs else []
    words += ["--trajectory", subject.trajectory] if subject.trajectory else []
    for name, value in _chosen(subject).items():
        if name == "depends_on_time":
            words.append("--depends-on-time")
        elif name in _OPTIONS and value is not None:
            text = f"{value:.15g}" if isinstance(value, float) else str(value)
            words += [_OPTIONS[name], ",".join(value) if isinstance(value, list | tuple) else text]
    return shlex.join(words)
