"""The command `ceql frf`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ceql.cli.json_output import as_text, is_standard_output, write_json
from ceql.storage.destinations import check_writable, deliver, write_text

if TYPE_CHECKING:
    import numpy as np

    from ceql.frf.analysis import Analysis, Settings
    from ceql.frf.readers import Reading, Recordings, SurveyReading

_DEMO_REPETITIONS = 10
_NO_PHASE = (
    "The files hold no phase, so one formula was fitted to mean magnitudes: where frequencies scatter, its widths "
    "do not show the damping. Export the phase, or real and imaginary parts, for a modal analysis."
)


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--demo", is_flag=True, help="Use an embedded beam with known truth instead of files.")
@click.option(
    "--form",
    type=click.Choice(["modes", "paper", "modal"]),
    help="modes: a modal analysis of all points and repetitions; paper, modal: one formula for mean magnitudes. "
    "[default: modes where the files hold phases, else paper]",
)
@click.option(
    "--max-terms",
    type=click.IntRange(1),
    help="The largest number of resonances. [default: 6; modes: as many as the data support]",
)
@click.option("--max-parameters", type=click.IntRange(1), help="The largest number of fitted parameters.")
@click.option("--weighting", type=click.Choice(["linear", "db"]), default="linear", show_default=True)
@click.option("--complex", "fit_complex", is_flag=True, help="Fit magnitude and phase together (modal form).")
@click.option(
    "--split", "split_rule", help="Held-out repetitions: first:56 trains on 1 to 56, every:5 holds out each 5th."
)
@click.option("--leave-out", type=float, metavar="LEVEL", help="Train without this level and predict it.")
@click.option("--band", help="Frequencies to use, LOW:HIGH in Hz.")
@click.option(
    "--windows",
    default="",
    help="Frequency windows in which to compare peaks, such as 100:200,330:450. [default: found in the curves]",
)
@click.option(
    "--pattern", default="", help="Where the condition stands in the names: 'damage_{d}/P-{repetition}-*.txt'."
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="WORD=NUMBER",
    help="The level that a word in a name stands for, such as healthy=0.",
)
@click.option(
    "--conditions",
    type=click.Path(path_type=Path),
    help="A table of the conditions, with a column 'file', 'folder' or 'repetition'.",
)
@click.option("--kind", type=click.Choice(["receptance", "mobility", "accelerance", "ratio"]), help="The FRF type.")
@click.option("--unit", default="", help="The unit of the response, such as m/s²/N.")
@click.option("--magnitude", type=click.Choice(["auto", "db", "linear"]), default="auto", show_default=True)
@click.option("--phase", type=click.Choice(["auto", "deg", "rad"]), default="auto", show_default=True,
              help="The unit of phases whose column does not give it.")  # fmt: skip
@click.option("--columns", default="", help="Which columns or arrays to use, such as frequency=f,magnitude=A.")
@click.option("--channel", default="", help="Which of several curves in a file to use, such as S21 or 3Z/1Z.")
@click.option("--numbers", type=click.Choice(["auto", "points", "repetitions"]), default="auto", show_default=True,
              help="What several files or columns of one condition are.")  # fmt: skip
@click.option("--residuals", type=click.Choice(["both", "lower", "upper", "none"]), default="both", show_default=True,
              help="Residual terms for modes below and above the band (modes).")  # fmt: skip
@click.option(
    "--encoding", default="", help="The encoding of text files, such as latin-1 or utf-16. [default: detected]"
)
@click.option(
    "--estimator",
    type=click.Choice(["h1", "h2"]),
    default="h1",
    show_default=True,
    help="The FRF estimator for time data.",
)
@click.option(
    "--sampling-rate", type=click.FloatRange(0, min_open=True), help="In Hz, for time data that do not give it."
)
@click.option("--segment", type=click.IntRange(16), help="How many samples of time data are transformed at once.")
@click.option("--grid", type=click.Choice(["refuse", "interpolate"]), default="refuse", show_default=True,
              help="What to do with unequal frequencies and gaps.")  # fmt: skip
@click.option("--thin", type=click.IntRange(1), default=1, show_default=True, help="Use every n-th frequency.")
@click.option("--real-weights", is_flag=True, help="Fit on the real axis, for comparison.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.option("--threads", type=click.IntRange(1), help="Threads of the fit. [default: all cores]")
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder for the report, tables and figures; made if new."
)
@click.option("--json", "json_out", type=click.Path(path_type=Path), help="Write the result here ('-' = stdout).")
@click.option("--quiet", is_flag=True, help="Print only the formula.")
def frf(
    paths: tuple[Path, ...], demo: bool, out: Path | None, json_out: Path | None, quiet: bool, **options: Any
) -> None:
    """Fit one formula of frequency and condition to frequency response functions in PATHS, folders or files.

    Text tables, CSV, universal files (.uff), touchstone (.s2p) and MATLAB files are read, also with several points and
    with time data. The condition is read from the name of each folder or file, or given by --pattern or --conditions.

    \b
    Examples:
      ceql frf --demo --out beam
      ceql frf hammer_test.uff --band 5:500 --out result
      ceql frf beam-frf --band 50:2000 --numbers repetitions --leave-out 5.92
      ceql frf beam-frf --band 50:2000 --form paper --split first:56 --max-terms 6 --out result
      ceql frf beam-frf --band 50:2000 --form modal --leave-out 5.92 --json -
      ceql frf resonator_36mm.s2p resonator_72mm.s2p --pattern 'resonator_{length}mm.s2p' --grid interpolate
    """
    if demo == bool(paths):
        raise click.UsageError("Give folders or files with measurements, or --demo for the embedded beam.")
    check_writable(json_out)
    prepared = _prepared(out)
    recordings = None if demo else _recordings(paths, options)
    if _wants_modes(options, recordings):
        from ceql.frf.modal.cli import modes_outputs

        reading = _demo_survey(options) if recordings is None else recordings.survey()
        with _stage_display(quiet) as progress:
            deliver(modes_outputs(reading, options, prepared, json_out, quiet, progress, _truth if demo else None))
        return
    from ceql.frf.analysis import analyse

    settings = _settings(options, demo)
    reading = _demo_reading(options) if recordings is None else recordings.one_point()
    with _stage_display(quiet) as progress:
        analysis = analyse(reading.measurements.thinned(options["thin"]), settings, progress)
    notes = reading.notes
    if options["form"] is None and recordings is not None and not recordings.have_phases:
        notes = (*notes, _NO_PHASE)
    deliver(_outputs(analysis, notes, prepared, json_out, quiet, _truth if demo else None))


# Options of the forms that fit one formula to mean curves; a modal analysis does not use them.
_OF_A_FORMULA = ("max_parameters", "weighting", "fit_complex", "real_weights", "seed", "time_limit", "threads")


def _wants_modes(options: dict[str, Any], recordings: Recordings | None) -> bool:
    """Whether to make a modal analysis: if asked for, or if there are phases and no option implies another form."""
    context = click.get_current_context()
    said = [name for name in _OF_A_FORMULA if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if recordings is None:  # the demo draws its noise with the seed, whatever the form
        said = [name for name in said if name != "seed"]
    if options["form"] == "modes" and said:
        words = ", ".join(next(p.opts[0] for p in context.command.params if p.name == name) for name in said)
        raise click.UsageError(
            f"{words} works with --form paper and --form modal only, not with --form modes: leave it out, or choose "
            "another form."
        )
    if options["form"] is not None:
        return options["form"] == "modes"
    harmless = {"seed", "time_limit", "threads"}
    return not set(said) - harmless and (recordings is None or recordings.have_phases)


@contextmanager
def _stage_display(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Yields the callback to which a fit reports its stage and fraction; None if there is no interactive session."""
    from ceql.output.progress import is_interactive

    if quiet or not is_interactive():
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=1.0, leave=False, bar_format="|{bar:20}| {desc}") as bar:

        def show(stage: str, fraction: float) -> None:
            bar.n = min(1.0, max(0.0, fraction))
            bar.set_description_str(stage)

        yield show


def _settings(options: dict[str, Any], demo: bool) -> Settings:
    from ceql.frf.analysis import Settings
    from ceql.frf.peak_tracks import parse_windows
    from ceql.frf.splits import parse_split

    fits_complex = options["fit_complex"] or (demo and options["form"] != "paper")
    said = {field.name: options[field.name] for field in fields(Settings) if field.name in options}
    said |= {
        "form": options["form"] or ("modal" if fits_complex else "paper"),
        "max_terms": options["max_terms"] or Settings.max_terms,
        "fit_complex": fits_complex,
        "complex_weights": not options["real_weights"],
        "split": parse_split(options["split_rule"]) if options["split_rule"] else None,
        "windows": tuple(parse_windows(options["windows"])) if options["windows"] else (),
    }
    return Settings(**said)


def _recordings(paths: tuple[Path, ...], options: dict[str, Any]) -> Recordings:
    from ceql.frf.curve import ReadOptions, Scale
    from ceql.frf.joining import Grid
    from ceql.frf.kinds import Kind
    from ceql.frf.labels import parse_words
    from ceql.frf.measurements import parse_band
    from ceql.frf.readers import Source, read_recordings

    source = Source(
        pattern=options["pattern"],
        words=parse_words(options["levels"]),
        table=options["conditions"],
        grid=Grid(options["grid"]),
        band=parse_band(options["band"]) if options["band"] else None,
        # asking for a split implies that there are repetitions
        numbers="repetitions" if options["split_rule"] and options["numbers"] == "auto" else options["numbers"],
    )
    said = ReadOptions(
        kind=Kind(options["kind"]) if options["kind"] else None,
        unit=options["unit"],
        scale=Scale(options["magnitude"]),
        phase="" if options["phase"] == "auto" else options["phase"],
        columns=_pairs(options["columns"]),
        channel=options["channel"],
        encoding=options["encoding"],
        sampling_rate=options["sampling_rate"],
        estimator=options["estimator"],
        segment=options["segment"],
    )
    return read_recordings(paths, source, said)


def _demo_reading(options: dict[str, Any]) -> Reading:
    from ceql.frf.beam import Beam, measure
    from ceql.frf.measurements import parse_band
    from ceql.frf.readers import Reading

    measured = measure(Beam(), repetitions=_DEMO_REPETITIONS, seed=options["seed"])
    if options["band"]:
        measured = measured.band(*parse_band(options["band"]))
    return Reading(measured, ("The embedded beam: d is the lost stiffness of one element in percent; noise at 40 dB.",))


def _demo_survey(options: dict[str, Any]) -> SurveyReading:
    from ceql.frf.modal.sets import survey_of
    from ceql.frf.readers import SurveyReading

    reading = _demo_reading(options)
    return SurveyReading(survey_of(reading.measurements), reading.notes)


def _pairs(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if any(not mark or not value.strip() for _, mark, value in pairs):
        raise click.UsageError("--columns needs ROLE=NAME pairs, such as frequency=f,magnitude=A.")
    return {role.strip().lower(): name.strip() for role, _, name in pairs}


def _prepared(out: Path | None) -> Path | None:
    """The output folder, created before the fit, so that no result is lost to a bad path or a missing package."""
    if out is None:
        return None
    from ceql.output.plots.canvas import new_figure

    new_figure(1, 1)
    out.mkdir(parents=True, exist_ok=True)
    return out


def _outputs(
    analysis: Analysis,
    notes: tuple[str, ...],
    out: Path | None,
    json_out: Path | None,
    quiet: bool,
    truth: Callable[[np.ndarray], str] | None,
) -> Iterator[Callable[[], None]]:
    """What to output, printing first, since writing a file may fail for lack of space."""
    from ceql.frf.pictures import all_figures
    from ceql.frf.summary import as_json, in_words, modes_table, peaks_table
    from ceql.output.plots.canvas import save_figure
    from ceql.storage.csv_output import as_csv

    words = "\n".join([in_words(analysis), *notes])
    prints_json = json_out is not None and is_standard_output(json_out)
    if not prints_json:
        told = f"{words}\n\n{truth(analysis.measurements.levels)}" if truth else words
        yield partial(click.echo, str(analysis.fit.expression) if quiet else told)
    if json_out is not None:
        yield lambda: write_json(json_out, as_json(analysis))
    if out is None:
        return
    texts = {
        "report.txt": f"{words}\n",
        "result.json": as_text(as_json(analysis)),
        "modes.csv": as_csv(modes_table(analysis)),
        "peaks.csv": as_csv(peaks_table(analysis)),
    }
    say = not (quiet or prints_json)
    for name, text in texts.items():
        yield partial(made, out / name, partial(write_text, text=text), say)
    for name, figure in all_figures(analysis):
        yield partial(made, out / f"{name}.png", partial(save_figure, figure, dpi=130), say)


def made(path: Path, write: Callable[..., None], say: bool) -> None:
    write(path=path)
    if say:
        click.echo(f"{path}")


def _truth(levels: np.ndarray) -> str:
    """The true modes of the embedded beam, for comparison with the fitted ones."""
    from ceql.frf.beam import Beam

    lines = ["The true frequencies in Hz (damping):"]
    for level in levels:
        modes = Beam().damaged(level[0] / 100.0).modes
        words = ", ".join(f"{f:.2f} ({z:g})" for f, z in zip(modes.frequency, modes.damping, strict=True))
        lines.append(f"  d = {level[0]:g}: {words}")
    return "\n".join(lines)
