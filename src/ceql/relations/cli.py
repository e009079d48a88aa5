"""The command `ceql relate`: relations between the columns of a table, without a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ceql.cli.json_output import is_standard_output, write_json
from ceql.cli.meanwhile import said_meanwhile
from ceql.cli.table_options import layout_of, listed, missing_option, table_options, tell
from ceql.errors import InputError, unknown_name
from ceql.storage.destinations import check_writable, deliver

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ceql.data.tables import Table
    from ceql.relations.finding import RelationsFinding


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--columns",
    "--features",
    default="",
    help="Columns to use, separated by commas. [default: all that hold numbers]",
)
@click.option("--exclude", default="", help="Columns to leave out, separated by commas.")
@click.option(
    "--groups",
    default="",
    metavar="COLUMN",
    help="The column of group labels, such as run; the level of a relation may differ between groups.",
)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--threads", type=click.IntRange(1), help="Threads of the search. [default: all cores]")
@click.option(
    "--no-search", is_flag=True, help="Use only sums of simple terms: do not search for formulas of single columns."
)
@missing_option
@table_options
@click.option(
    "--save", "save_to", type=click.Path(path_type=Path), help="Write the relations here, to load them again."
)
@click.option("--json", "json_out", type=click.Path(path_type=Path), help="Write the result here ('-' = stdout).")
@click.option("--quiet", is_flag=True, help="Print only the relations.")
def relate(table: Path, save_to: Path | None, json_out: Path | None, quiet: bool, **options: Any) -> None:
    """Find relations F(x, y, ...) = 0 or F = constant between the columns of TABLE, none of which is a target.

    Such as equations of state, conserved quantities, curves and surfaces that all rows lie on. Every column may have
    noise. A relation is checked on rows held out, and it must fail on shuffled columns: identities do not count.

    \b
    Examples:
      ceql relate gas.csv
      ceql relate gas.csv --columns p,V,T --json -
      ceql relate pendulum.csv --exclude time --groups run
      ceql relate lens.csv --save lens.json --quiet
    """
    if save_to is not None and is_standard_output(save_to):
        raise click.UsageError("Relations cannot be saved to '-', only --json can be written there: name a file.")
    check_writable(save_to, json_out)
    columns, labels = _chosen(table, options, quiet)
    from ceql.relations.discovering import find_relations
    from ceql.relations.display import stage_display
    from ceql.relations.policy import RelationsSettings

    settings = RelationsSettings(
        time_limit=options["time_limit"],
        seed=options["seed"],
        threads=options["threads"],
        solve=not options["no_search"],
    )
    with stage_display(quiet) as progress:
        finding = find_relations(columns, settings, progress, labels)
    tell(finding.notes)
    deliver(_outputs(finding, save_to, json_out, quiet))


def _chosen(path: Path, options: dict[str, Any], quiet: bool) -> tuple[pd.DataFrame, Any]:
    with said_meanwhile(f"Reading {path}", quiet):
        from pandas import Series

        from ceql.data.chosen_columns import Wanted, chosen_columns
        from ceql.data.tables import read_cells
        from ceql.relations import discovering  # noqa: F401 - loads the whole library, which takes longest

        table = read_cells(path, layout_of(options))
    wanted, excluded, groups = listed(options["columns"]), listed(options["exclude"]), options["groups"]
    _check_names(table, [*wanted, *excluded, *([groups] if groups else [])])
    _check_enough(table, wanted, {*excluded, groups})
    labels = [groups] if groups else []
    chosen = chosen_columns(table, Wanted((), wanted, excluded, labels=labels, drop_gaps=options["missing"] == "drop"))
    tell(chosen.notes)
    named: np.ndarray | None = chosen.beside.get(groups)
    return chosen.x, None if named is None else Series(named, name=groups)


def _check_names(table: Table, names: list[str]) -> None:
    for name in names:
        if name not in table.names:
            raise unknown_name("column", name, table.names)


def _check_enough(table: Table, wanted: list[str], left_out: set[str]) -> None:
    """Raises `InputError` if fewer than two columns can take part."""
    names = wanted or [name for name in table.names if name and name not in left_out and not table.why_no_input(name)]
    if len(names) < 2:
        why = [f"Column {name!r} {reason}." for name in table.names if name and (reason := table.why_no_input(name))]
        which = f"One column of numbers, {names[0]!r}, is" if names else "No column of numbers is"
        raise InputError(" ".join([f"{which} left in {table.path}, but a relation needs two or more.", *why]))


def _outputs(
    finding: RelationsFinding, save_to: Path | None, json_out: Path | None, quiet: bool
) -> Iterator[Callable[[], None]]:
    """What to output, printing first, since writing a file may fail for lack of space."""
    from ceql.relations.model_file import write_relations
    from ceql.relations.summary import as_json, in_words

    if json_out is None or not is_standard_output(json_out):
        yield partial(click.echo, "\n".join(finding.texts) if quiet else in_words(finding))
    if json_out is not None:
        yield partial(write_json, json_out, as_json(finding))
    if save_to is not None:
        yield partial(write_relations, save_to, finding)
