"""The options of `ceql fit`, in sections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ceql.cli.did_you_mean import SuggestingChoice
from ceql.cli.table_options import TABLE_OPTIONS, missing_option, table_options

# As in ceql.choice.selection, which takes too long to import for `ceql --help`. A test keeps the two equal.
RULES = ("best", "accuracy", "score", "cv")
_FILE = click.Path(path_type=Path)

SECTIONS = {
    "Columns": (
        *("targets", "features", "exclude", "weights", "sigma", "sigma_x", "sigma_relative", "censored"),
        *("detection_limit", "groups", "per_group", "missing", "units", "constants"),
    ),
    "What a formula may contain": (
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
    "Continuing a stopped search": ("resume", "named", "checkpoint_every", "no_checkpoint"),
    "How the file is laid out": TABLE_OPTIONS,
    "Results": ("save_to", "report_to", "json_out", "quiet"),
    "Project files": ("config", "write_config"),
}

_OPTIONS = (
    click.option("--target", "targets", multiple=True, help="The column to explain; may be repeated."),
    click.option("--features", default="", help="Columns to use, separated by commas. [default: all others]"),
    click.option("--exclude", default="", help="Columns to leave out, separated by commas."),
    click.option("--weights", metavar="COLUMN", help="The column with the weight of each row."),
    click.option("--sigma", metavar="COLUMN", help="The column with the errors of the target (standard deviations)."),
    click.option(
        "--sigma-x",
        multiple=True,
        metavar="NAME=ERROR",
        help="The error of an input, as a number or a column, such as t=0.1; may be repeated.",
    ),
    click.option(
        "--sigma-relative",
        is_flag=True,
        help="The errors are known only up to a common factor, which is estimated from the rows.",
    ),
    click.option(
        "--censored", metavar="COLUMN", help="The column that says 'below' or 'above' where the target is only a limit."
    ),
    click.option("--detection-limit", type=float, help="Values of the target below this limit are unknown."),
    click.option(
        "--groups", metavar="COLUMN", help="The column of group labels; the rows of a group are held out together."
    ),
    click.option(
        "--per-group",
        metavar="WHICH",
        help="Constants that differ between the --groups: 'auto', how many, or names in the template, separated by "
        "commas.",
    ),
    missing_option,
    click.option(
        "--units",
        multiple=True,
        metavar="NAME=UNIT",
        help="Units of columns, such as distance=mm,image=mm; 'headers' reads them from names such as 'distance "
        "[mm]'; may be repeated.",
    ),
    click.option(
        "--constants",
        default="any",
        show_default=True,
        help="The units that constants may have: any, dimensionless, physics, or names such as 'g=9.81 m/s^2,c'.",
    ),
    click.option(
        "--operators", default="", help="The operators to use, separated by commas (see `ceql operators`), or 'paper'."
    ),
    click.option("--max-complexity", type=click.IntRange(1), help="The largest number of nodes a formula may have."),
    click.option(
        "--guess", "guesses", multiple=True, metavar="FORMULA", help="A formula that you suspect; may be repeated."
    ),
    click.option(
        "--template",
        metavar="FORMULA",
        help="The form of the formula, such as 'A*exp(-k*x)'; names that are not columns are fitted.",
    ),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="TOML",
        help="What is known of a parameter of the template, such as 'k={low=0}'; may be repeated.",
    ),
    click.option(
        "--constraint",
        "constraints",
        multiple=True,
        metavar="TEXT",
        help="A condition, such as 'increasing in x', 'f(x=0) = 1' or 'without=[\"sin\"]'; may be repeated.",
    ),
    click.option(
        "--catalogue/--no-catalogue", default=True, help="Whether named laws compete with the formulas of the search."
    ),
    click.option(
        "--loss", default="squared", show_default=True, help="squared, huber, cauchy, log-cosh, absolute, or a formula."
    ),
    click.option(
        "--select",
        "--choice",
        "choice",
        type=SuggestingChoice(RULES),
        default="best",
        show_default=True,
        help="The rule that chooses the formula.",
    ),
    click.option("--cv", type=click.IntRange(2), help="Folds of the cross-validation. [default: 5]"),
    click.option(
        "--more",
        type=click.IntRange(0),
        default=20,
        show_default=True,
        help="How many formulas beside the front to keep and print. Without this option only likely ones are "
        "printed, at most 5.",
    ),
    click.option("--struck", is_flag=True, help="Print the struck formulas, which may not be chosen, and why."),
    click.option(
        "--time-limit",
        type=click.FloatRange(0, min_open=True),
        default=60.0,
        show_default=True,
        help="End after this many seconds with the best formula so far.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="The random seed; the same seed gives the same formula.",
    ),
    click.option(
        "--recipe",
        type=SuggestingChoice(["search", "real", "paper", "authors"]),
        default="search",
        show_default=True,
        help="real: a search with real weights; paper, authors: one network, trained as in the paper or in its "
        "authors' code.",
    ),
    click.option(
        "--threads", type=click.IntRange(1), help="Threads of each process. [default: the processes share all cores]"
    ),
    click.option("--jobs", type=click.IntRange(1), help="Processes to use. [default: this one, with all cores]"),
    click.option("--device", type=SuggestingChoice(["auto", "cpu", "gpu"]), default="cpu", show_default=True),
    click.option("--cluster", "address", help="Run on a cluster: dask://host:port or ray://host:port."),
    click.option("--resume", is_flag=True, help="Continue from the checkpoint, if there is one."),
    click.option("--checkpoint", "named", type=_FILE, help="Write checkpoints to this file."),
    click.option(
        "--checkpoint-every",
        type=click.FloatRange(0, min_open=True),
        default=5.0,
        show_default=True,
        help="Seconds between two checkpoints.",
    ),
    click.option("--no-checkpoint", is_flag=True, help="Write no checkpoints."),
    table_options,
    click.option("--save", "save_to", type=_FILE, help="Save the model here, for `ceql show` and `ceql predict`."),
    click.option("--report", "report_to", type=_FILE, help="Write an HTML page about the formula here."),
    click.option("--json", "json_out", type=_FILE, help="Write the front here ('-' = stdout)."),
    click.option("--quiet", is_flag=True, help="Print only the formula."),
    click.option("--config", type=_FILE, help="Read options that are not given here from this project file (TOML)."),
    click.option("--write-config", type=_FILE, help="Write the settings of this run to a project file, to repeat it."),
)


def fit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
