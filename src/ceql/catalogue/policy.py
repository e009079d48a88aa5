"""The numbers that steer how the catalogue is fitted and recognised; they count work; times only plan it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class CataloguePolicy:
    """Budgets are counted in rows, starts, steps and laws: a table has the same fits under any load."""

    screened_rows: int = 80  # of a longer table, on which laws are compared before the better ones are fitted properly
    fitted_rows: int = 2000  # of a longer table, on which constants are fitted before a few last steps on all rows
    started_rows: int = 400  # of a longer table, off which starting values are read
    most_starts: int = 160  # combinations of starting values that a law is evaluated at; more are thinned out
    kept_starts: int = 4  # of these go on by Levenberg-Marquardt
    rounds: tuple[tuple[int, int], ...] = ((120, 2), (48, 5))  # laws that go on, and steps of Levenberg-Marquardt each
    most_finished: int = 16  # laws that are then fitted to the bottom, besides the plain models, which always are
    finished_per_size: int = 3  # of each number of constants, likewise
    shaped: int = 3  # times as many of both where the shape of the formula is known: many laws have another
    mended: int = 24  # laws and forms of another shape that are fitted again so that they keep to it
    mended_anyway: int = 6  # of these, even if the time is up
    refining_starts: int = 2  # of such a law are followed to the bottom
    last_steps: int = 60  # of Levenberg-Marquardt to the bottom
    long_table_steps: int = 6  # on all rows of a longer table, where little is left to do
    per_law: int = 2  # choices of columns for one law that go on
    most_columns: int = 5  # of a wide table that laws are tried on: those that alone say most about y
    most_assignments: int = 20  # of columns to the places of one law
    line_columns: tuple[int, ...] = (
        1,
        2,
        3,
        4,
        5,
        6,
        8,
        10,
        12,
        15,
        20,
        25,
    )  # straight lines in as many of a wide table
    quick_line: float = 1e9  # multiplications for a line in all columns, which take next to no time
    most_terms: int = 12  # columns up to which a straight line in all of them is fitted
    # About how long all of it takes: the least, for every further column, for every row of at most that many.
    seconds: float = 1.4
    seconds_a_column: float = 0.7
    seconds_a_row: float = 1e-4
    priced_rows: int = 20000
    most_of_limit: float = 0.4  # share of the time limit; with a shorter one only the plain models are fitted
    offered_rows: int = 1000  # of a longer table, on which laws and forms are compared; then
    offered: int = 16  # of them are fitted to all rows
    most_rows: int = sys.maxsize  # to more rows nothing is fitted; a longer table only judges. Memory has a say too.
    rows_a_second: int = 5000  # They are this many for every second of the time limit.
    # A table with more columns, or with more rows times columns beside the first, gets the plain models alone: there
    # laws take long, and the rows speak for themselves.
    most_table_columns: int = 3
    most_cells: int = 4000
    form_columns: int = 3  # of a table that small forms are made of
    forms_per_size: int = 12  # small forms of each number of constants that are fitted to y
    forms_made: int = 8  # of these become formulas: a few more than are shown beside the front
    # The target may be a logarithm if it spans at least this much,
    least_logarithms: float = 1.0
    logarithms_reach: float = 20.0  # most rows lie no further than this from their median,
    largest_logarithm: float = 100.0  # and these no further than that from zero.
    logarithms: int = 3  # laws of its exponential that are fitted to the bottom, and as many of its reciprocal
    logarithms_rounds: tuple[tuple[int, int], ...] = ((24, 2), (12, 5))  # as `rounds`
    recognised_points: int = 72  # at which a law must have the formula's values
    recognised_within: float = 1e-6  # of the spread of the formula's values
    # Steps towards a formula, each with the root mean square misfit, in spreads, that must be reached to go on.
    recognition: tuple[tuple[int, float], ...] = ((2, 0.3), (5, 0.03))

    @property
    def wider(self) -> CataloguePolicy:
        """For a search that most laws are no good for."""
        finished, a_size = self.shaped * self.most_finished, self.shaped * self.finished_per_size
        return replace(self, most_finished=finished, finished_per_size=a_size)

    def within(self, time_limit: float) -> CataloguePolicy:
        """With the rows that this time limit leaves for fits."""
        return replace(self, most_rows=max(int(min(self.rows_a_second * time_limit, self.most_rows)), self.fitted_rows))

    @property
    def for_logarithms(self) -> CataloguePolicy:
        """With less effort, since the laws are fitted once more, to the target itself."""
        return replace(
            self,
            rounds=self.logarithms_rounds,
            most_finished=self.logarithms,
            finished_per_size=0,
            refining_starts=1,
            last_steps=self.last_steps // 3,
        )


POLICY = CataloguePolicy()
