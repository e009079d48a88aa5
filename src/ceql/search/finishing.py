"""How much is done to finish a search, in counts: planned before it begins, from the time kept for it and the rows.

Drawing the front costs time that grows with the number of formulas drawn and the number of rows they are judged on.
Counts that fit into that time by a rough price list keep the time limit as well as a look at the clock after every
formula would, and give the same front however busy the machine is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ceql.engine.deadline import Deadline

# Prices in seconds. The unit is a sketch of a formula; to ask an aim or to look for relatives costs about as much, the
# full effort for one formula about ten times that. On a long table all of them grow with the rows.
_SKETCH, _SKETCH_A_ROW = 0.05, 3e-7
_LEVELS = (240, 120, 60)  # sketches that the whole may cost; with the first, nothing is left out
_RESERVED, _MOST_RESERVED = 0.15, 2.0  # share of the time limit kept for drawing the front, and at most seconds
_RESERVED_SHORT, _LEAST_RESERVED = 0.4, 1.0  # the share that even the least plan may need of a short limit; seconds
_RESERVED_LONG, _RESERVED_A_ROW = 0.35, 5e-6  # share beside it for a long table, and at most so many seconds a row
_ROWS_FOR_FREE = 2000  # rows that a formula is fitted to in any case


@dataclass(frozen=True)
class Finishing:
    """How many formulas get how much attention."""

    asked: int  # aims that are asked for formulas that need no search
    sketched: int  # of what they propose, those that are fitted to y
    polished: int  # of these, with the full effort: constants that become whole numbers may turn the order round
    drawn: int  # rows of a front, beside the constant
    finished: int  # of these, with the full effort
    relatives: int  # formulas beside which others with simpler numbers are put
    outlined: int  # other aims whose fits are drawn where the data have few rows


EVERYTHING = Finishing(asked=48, sketched=12, polished=4, drawn=40, finished=3, relatives=80, outlined=6)
LEAST = Finishing(asked=1, sketched=1, polished=1, drawn=4, finished=1, relatives=1, outlined=1)
IN_HASTE = replace(LEAST, drawn=6, sketched=2)  # for somebody who has pressed Ctrl-C


def planned(sketches: int) -> Finishing:
    """What the time for so many sketches is spent on; never less than the least, never more than everything."""
    if sketches >= _LEVELS[0]:
        return EVERYTHING
    shares = {
        "asked": 5,
        "sketched": 6,
        "polished": 30,
        "drawn": 3,
        "finished": 25,
        "relatives": 10,
        "outlined": 20,
    }
    return Finishing(
        **{
            name: _between(sketches // part, getattr(LEAST, name), getattr(EVERYTHING, name))
            for name, part in shares.items()
        }
    )


def _between(count: int, least: int, most: int) -> int:
    return max(least, min(count, most))


def sketches_within(seconds: float, rows: int) -> int:
    """How many formulas can be sketched in that time, by the price list."""
    return int(min(max(seconds, 0.0) / _price(rows), _LEVELS[0]))


def _price(rows: int) -> float:
    return _SKETCH + _SKETCH_A_ROW * rows


def reserve(time_limit: float, rows: int) -> float:
    """Seconds kept for drawing the front. Formulas are fitted to and judged on all rows, which takes long for many."""
    long = max(rows - _ROWS_FOR_FREE, 0) * _RESERVED_A_ROW
    least = min(_RESERVED_SHORT * time_limit, _LEAST_RESERVED)
    return max(min(_RESERVED * time_limit, _MOST_RESERVED), least) + min(_RESERVED_LONG * time_limit, long)


def finishing(time_limit: float, deadline: Deadline, rows: int) -> Finishing:
    """What was planned for the time kept for it, or the most thorough of a few larger plans that time is left for.

    The clock is asked only here, before anything is drawn. When the time limit is far away, the plan is everything.
    """
    left = deadline.left
    kept = sketches_within(reserve(time_limit, rows), rows)
    return planned(next((level for level in _LEVELS if level > kept and level * _price(rows) <= left), kept))
