"""Modal analysis in `ceql frf`: runs it, prints the results, and writes tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ceql.cli.json_output import as_text, is_standard_output, write_json
from ceql.frf.modal.analysis import ModalAnalysis, ModalSettings, analyse_modes
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.peak_tracks import parse_windows
from ceql.frf.splits import parse_split
from ceql.storage.destinations import write_text

if TYPE_CHECKING:
    from ceql.frf.readers import SurveyReading


def settings_of(options: dict[str, Any]) -> ModalSettings:
    policy = ModalPolicy()
    if options["max_terms"]:
        policy = replace(policy, most_modes=options["max_terms"])
    return ModalSettings(
        split=parse_split(options["split_rule"]) if options["split_rule"] else None,
        leave_out=options["leave_out"],
        windows=tuple(parse_windows(options["windows"])) if options["windows"] else (),
        residuals=options["residuals"],
        policy=policy,
    )


def modes_outputs(
    reading: SurveyReading,
    options: dict[str, Any],
    out: Path | None,
    json_out: Path | None,
    quiet: bool,
    progress: Callable[[str, float], None] | None,
    truth: Callable[[np.ndarray], str] | None,
) -> Iterator[Callable[[], None]]:
    """Runs the analysis and yields the outputs, printing first, since writing a file may fail for lack of space."""
    survey = reading.survey.thinned(options["thin"])
    analysis = analyse_modes(survey, settings_of(options), progress)
    return _outputs(analysis, reading.notes, out, json_out, quiet, truth)


def _outputs(
    analysis: ModalAnalysis,
    notes: tuple[str, ...],
    out: Path | None,
    json_out: Path | None,
    quiet: bool,
    truth: Callable[[np.ndarray], str] | None,
) -> Iterator[Callable[[], None]]:
    from ceql.frf.cli import made
    from ceql.frf.modal import summary
    from ceql.frf.modal.pictures import all_figures
    from ceql.output.plots.canvas import save_figure
    from ceql.storage.csv_output import as_csv

    words = "\n".join([summary.in_words(analysis), *notes])
    content = summary.as_json(analysis)
    content["notes"] = [*content["notes"], *notes]
    prints_json = json_out is not None and is_standard_output(json_out)
    if not prints_json:
        told = f"{words}\n\n{truth(np.array(analysis.survey.conditions))}" if truth else words
        yield partial(click.echo, content["expression"] if quiet else told)
    if json_out is not None:
        yield lambda: write_json(json_out, content)
    if out is None:
        return
    texts = {
        "report.txt": f"{words}\n",
        "result.json": as_text(content),
        "modes.csv": as_csv(summary.modes_table(analysis)),
        "laws.csv": as_csv(summary.laws_table(analysis)),
        "shapes.csv": as_csv(summary.shapes_table(analysis)),
    }
    if analysis.peaks:
        texts["peaks.csv"] = as_csv(summary.peaks_table(analysis))
    if analysis.forecasts:
        texts["left_out.csv"] = as_csv(summary.forecast_table(analysis))
    say = not (quiet or prints_json)
    for name, text in texts.items():
        yield partial(made, out / name, partial(write_text, text=text), say)
    for name, figure in all_figures(analysis):
        yield partial(made, out / f"{name}.png", partial(save_figure, figure, dpi=130), say)
