"""The settings of a search as the browser sends them, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ceql.data import content
from ceql.data.content import ContentError

LONGEST = 24 * 3600.0  # seconds of a search
AUTO, SHARED = "auto", "none"  # values of `per_group` besides numbers
_ON_THE_PAGE = {"time_limit": "the time limit", "max_complexity": "the most nodes of a formula", "seed": "the seed"}
_MOST_UNITS = 10_000  # columns


@dataclass(frozen=True)
class Wish:
    """The settings of a search that were chosen on the page."""

    target: str
    leave_out: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()  # empty: the default ones
    time_limit: float = 60.0
    max_complexity: int | None = None
    catalogue: bool = True
    select: str = "best"
    seed: int = 0
    drop_gaps: bool = True
    groups: str = ""  # the column with their labels; empty: no groups
    per_group: str = AUTO
    units: Mapping[str, str] = field(default_factory=dict)  # empty: units are not checked
    constants: str = "any"  # which constants may have units

    @classmethod
    def of(cls, given: Any) -> Wish:
        """The settings from JSON; a ContentError says in the words of the page what is wrong."""
        try:
            return cls._read(given)
        except ContentError as error:
            told = str(error)
            for name, words in _ON_THE_PAGE.items():
                if told.startswith(repr(name)):  # a value chosen on the page; fields are never missing there
                    told = words + told.removeprefix(repr(name))
            raise ContentError(told) from None

    @classmethod
    def _read(cls, given: Any) -> Wish:
        most = content.field(given, "max_complexity")
        wish = cls(
            target=content.text(given, "target"),
            leave_out=content.names(given, "leave_out"),
            operators=content.names(given, "operators"),
            time_limit=content.number(given, "time_limit", least=1.0),
            max_complexity=None if most is None else content.whole(given, "max_complexity", most=10_000),
            catalogue=content.flag(given, "catalogue"),
            select=content.text(given, "select"),
            seed=content.whole(given, "seed", most=2**32 - 1),
            drop_gaps=content.flag(given, "drop_gaps"),
            groups=content.text(given, "groups"),
            per_group=_per_group(given),
            units=_units(given),
            constants=content.text(given, "constants").strip() or "any",
        )
        if wish.time_limit > LONGEST:
            raise ContentError(f"the time limit is {wish.time_limit:g} s; at most {LONGEST:g} s are allowed")
        if wish.max_complexity == 0:
            raise ContentError("'max_complexity' is 0, but a formula has at least one node")
        if wish.own_constants is not None and wish.units:
            raise ContentError(
                "units cannot be combined with constants of groups yet: untick the units, or let all groups share "
                "all constants"
            )
        return wish

    @property
    def own_constants(self) -> str | int | None:
        """The parameter `per_group` of the regressor."""
        if not self.groups or self.per_group == SHARED:
            return None
        return AUTO if self.per_group == AUTO else int(self.per_group)

    def longer(self, seconds: float) -> Wish:
        """The same settings with a time limit of at least this many seconds, up to the longest allowed."""
        return replace(self, time_limit=min(max(self.time_limit, seconds), LONGEST))

    def as_json(self) -> Mapping[str, Any]:
        return asdict(self)


def _per_group(given: Any) -> str:
    asked = content.text(given, "per_group")
    if asked not in (AUTO, SHARED) and not (asked.isascii() and asked.isdigit() and 0 < int(asked) < 100):
        raise ContentError(
            f"'per_group' is {content.shown(asked)}; it must be 'auto', 'none' or a whole number of at least 1"
        )
    return asked


def _units(given: Any) -> dict[str, str]:
    """The units of columns; blank ones are left out."""
    units = content.field(given, "units")
    if not isinstance(units, Mapping) or len(units) > _MOST_UNITS:
        raise ContentError("'units' is no table of columns and their units")
    if not all(isinstance(text, str) and content.is_text(name + text) for name, text in units.items()):
        raise ContentError("'units' holds a unit that is no text")
    return {name: text.strip() for name, text in units.items() if text.strip()}
