"""The commands for saved models, for files that hold a system as well: `ceql show`, `ceql export` and `ceql report`."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ceql.cli import model_commands
from ceql.cli.json_output import write_json
from ceql.storage.destinations import check_writable, write_text


def _also(command: click.Command, answer: Callable[..., None]) -> click.Command:
    """The command, which leaves files that hold a system to `answer`."""
    usual = command.callback
    assert usual is not None

    @wraps(usual)
    def either(**options: Any) -> None:
        from ceql.dynamics.model_file import is_system_file

        (answer if is_system_file(options["model"]) else usual)(**options)

    both = copy(command)
    both.callback = either
    return both


def _refuse(**options: Any) -> None:
    """Options that speak of formulas."""
    said = [f"--{name}" for name, value in options.items() if value]
    if said:
        raise click.UsageError(f"{', '.join(said)} cannot be used with a system of equations: leave it out.")


def _show(
    model: Path, row: int | None, target: str | None, more: int | None, struck: bool, json_out: Path | None
) -> None:
    from ceql.dynamics.estimator import ODERegressor
    from ceql.dynamics.summary import as_json, in_words

    _refuse(row=row is not None, target=target, more=more is not None, struck=struck)
    fitted = ODERegressor.load(model)
    told = fitted.finding_, fitted._along, fitted._behaviour()
    if json_out is not None:
        write_json(json_out, as_json(*told))
    else:
        click.echo(in_words(*told))


def _export(model: Path, to: str, out: Path, row: int | None, target: str | None, group: str | None) -> None:
    from ceql.dynamics.estimator import ODERegressor

    _refuse(row=row is not None, target=target)
    check_writable(out)
    write_text(out, ODERegressor.load(model).export(to, trajectory=group))


def _report(model: Path, out: Path, target: str | None, table: str, row: int | None) -> None:
    from ceql.dynamics.estimator import ODERegressor

    _refuse(row=row is not None, target=target)
    check_writable(out)
    ODERegressor.load(model).report(out, table=table)
    click.echo(f"Report written to {out}")


show = _also(model_commands.show, _show)
export = _also(model_commands.export, _export)
report = _also(model_commands.report, _report)
