"""The options of `ceql fit`, in sections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ceql.cli.did_you_mean import SuggestingChoice
from ceql.cli.table_options import TABLE_OPTIONS, missing_option, table_options

# As in ceql.choice.selection, which takes too long to import for `ceql --help`. A test holds the two together.
RULES = ("best", "accuracy", "score", "cv")
_FILE = click.Path(path_type=Path)

SECTIONS = {
    "Columns": (
        *("targets", "features", "exclude", "weights", "sigma", "sigma_x", "sigma_relative", "censored"),
        *("detection_limit", "groups", "per_group", "missing", "units", "constants"),
    ),
    "What a formula may be": (
        "operators",
        "max_complexity",
        "guesses",
        "template",
        "parameters",
        "constraints",
        "catalogue",
        "loss",
    ),
    "Which formula is chosen": ("choice", "cv", "more", "struck"),
    "The search": ("time_limit", "seed", "recipe", "jobs", "threads", "device", "address"),
    "Going on after a stop": ("resume", "named", "checkpoint_every", "no_checkpoint"),
    "How the file is laid out": TABLE_OPTIONS,
    "Results": ("save_to", "report_to", "json_out", "quiet"),
    "The whole run in a file": ("config", "write_config"),
}

_OPTIONS = (
    click.option("--target", "targets", multiple=True, help="The column to explain; may be repeated."),
    click.option("--features", default="", help="Columns to use, separated by commas. [default: all others]"),
    click.option("--exclude", default="", help="Columns to leave out, separated by commas."),
    click.option("--weights", metavar="COLUMN", help="A column that says how much each row counts."),
    click.option("--sigma", metavar="COLUMN", help="The errors of the target, as standard deviations."),
    click.option(
        "--sigma-x",
        multiple=True,
        metavar="NAME=ERROR",
        help="Errors of an input, a column or a number, such as t=0.1; may be repeated.",
    ),
    click.option("--sigma-relative", is_flag=True, help="The errors are known up to a factor, which the rows tell."),
    click.option("--censored", metavar="COLUMN", help="Says 'below' or 'above' where the target is only a limit."),
    click.option("--detection-limit", type=float, help="Below it no value of the target is known."),
    click.option("--groups", metavar="COLUMN", help="Labels: rows with the same one are held out together."),
    click.option(
        "--per-group",
        metavar="WHICH",
        help="Each of the --groups has constants of its own: 'auto', how many, or names in the template, by commas.",
    ),
    missing_option,
    click.option(
        "--units",
        multiple=True,
        metavar="NAME=UNIT",
        help="Such as distance=mm,image=mm; 'headers' reads them from names such as 'distance [mm]'; may be repeated.",
    ),
    click.option(
        "--constants",
        default="any",
        show_default=True,
        help="The units of numbers: any, dimensionless, physics, or names such as 'g=9.81 m/s^2,c'.",
    ),
    click.option("--operators", default="", help="Separated by commas (see `ceql operators`), or 'paper'."),
    click.option("--max-complexity", type=click.IntRange(1), help="The most nodes a formula may have."),
    click.option("--guess", "guesses", multiple=True, metavar="FORMULA", help="One that you suspect; may be repeated."),
    click.option(
        "--template", metavar="FORMULA", help="Its form, such as 'A*exp(-k*x)': other names than columns are found."
    ),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="TOML",
        help="Of the template, such as 'k={low=0}'; may be repeated.",
    ),
    click.option(
        "--constraint",
        "constraints",
        multiple=True,
        metavar="TEXT",
        help="Such as 'increasing in x', 'f(x=0) = 1' or 'without=[\"sin\"]'; may be repeated.",
    ),
    click.option("--catalogue/--no-catalogue", default=True, help="Whether named laws compete with what is found."),
    click.option(
        "--loss", default="squared", show_default=True, help="Or huber, cauchy, log-cosh, absolute, or a formula."
    ),
    click.option(
        "--select",
        "--choice",
        "choice",
        type=SuggestingChoice(RULES),
        default="best",
        show_default=True,
        help="The rule.",
    ),
    click.option("--cv", type=click.IntRange(2), help="Folds of the cross-validation. [default: 5]"),
    click.option(
        "--more",
        type=click.IntRange(0),
        default=20,
        show_default=True,
        help="Formulas beside the front. Without it those with a chance are printed, at most 5.",
    ),
    click.option("--struck", is_flag=True, help="Print the formulas that may not be chosen, and why."),
    click.option(
        "--time-limit",
        type=click.FloatRange(0, min_open=True),
        default=60.0,
        show_default=True,
        help="Seconds after which it ends with the best so far.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="The same one gives the same formula."
    ),
    click.option(
        "--recipe",
        type=SuggestingChoice(["search", "real", "paper", "authors"]),
        default="search",
        show_default=True,
        help="real: with real weights; paper, authors: one network, trained as there.",
    ),
    click.option("--threads", type=click.IntRange(1), help="Of each process. [default: they share all cores]"),
    click.option("--jobs", type=click.IntRange(1), help="Processes to use. [default: this one, with all cores]"),
    click.option("--device", type=SuggestingChoice(["auto", "cpu", "gpu"]), default="cpu", show_default=True),
    click.option("--cluster", "address", help="Run on a cluster: dask://host:port or ray://host:port."),
    click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one."),
    click.option("--checkpoint", "named", type=_FILE, help="Keep the search in this file."),
    click.option("--checkpoint-every", type=click.FloatRange(0, min_open=True), default=5.0, show_default=True),
    click.option("--no-checkpoint", is_flag=True, help="Do not keep the search in a file."),
    table_options,
    click.option("--save", "save_to", type=_FILE, help="Save the model here, for show and predict."),
    click.option("--report", "report_to", type=_FILE, help="Write an HTML page about the formula here."),
    click.option("--json", "json_out", type=_FILE, help="Write the front here ('-' = stdout)."),
    click.option("--quiet", is_flag=True, help="Print the formula alone."),
    click.option("--config", type=_FILE, help="Take what is not said here from this project file (TOML)."),
    click.option("--write-config", type=_FILE, help="Write this run as a project file, to repeat it."),
)


def fit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
