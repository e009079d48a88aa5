"""The numbers that steer how the catalogue is fitted and recognised; they count work; times only plan it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class CataloguePolicy:
    """Budgets are counted in rows, starts, steps and laws, so that a table has the same fits under any load."""

    screened_rows: int = 80  # rows of a longer table on which all laws are compared
    fitted_rows: int = 2000  # rows of a longer table that constants are fitted to, before a few last steps on all rows
    started_rows: int = 400  # rows of a longer table from which starting values are estimated
    most_starts: int = 160  # combinations of starting values per law; more are thinned out
    kept_starts: int = 4  # best starts, which continue by Levenberg-Marquardt
    # Per round: laws that continue, and Levenberg-Marquardt steps for each.
    rounds: tuple[tuple[int, int], ...] = ((120, 2), (48, 5))
    most_finished: int = 16  # laws that are then fitted until they converge; the plain models always are
    finished_per_size: int = 3  # the same for each number of constants
    shaped: int = 3  # factor on both numbers if the shape of the formula is known, since many laws do not have it
    mended: int = 24  # laws and forms with a different shape that are refitted to have the required one
    mended_anyway: int = 6  # of these, refitted even if the time is up
    refining_starts: int = 2  # starts of such a law that are fitted until they converge
    last_steps: int = 60  # most steps of a fit until it converges
    long_table_steps: int = 6  # steps on all rows of a longer table, where little is left to do
    per_law: int = 2  # assignments of columns per law that continue
    most_columns: int = 5  # columns of a wide table that laws are tried on: those that each say most about y
    most_assignments: int = 20  # assignments of columns to the variables of one law
    # Numbers of columns for which straight lines are fitted, in a wide table.
    line_columns: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25)
    # A line in all columns with fewer multiplications takes almost no time, and is always fitted.
    quick_line: float = 1e9
    most_terms: int = 12  # up to this many columns, a straight line in all of them is fitted
    # Time that all of it takes, approximately: a base amount, and more for each further column and for each row, up to
    # `priced_rows` rows.
    seconds: float = 1.4
    seconds_a_column: float = 0.7
    seconds_a_row: float = 1e-4
    priced_rows: int = 20000
    most_of_limit: float = 0.4  # if this takes a larger share of the time limit, only the plain models are fitted
    offered_rows: int = 1000  # rows of a longer table on which laws and forms are compared at the end
    offered: int = 16  # best of them, which are fitted to all rows
    # Most rows that are fitted to; the rest of a longer table is only used for judging. Memory may lower this.
    most_rows: int = sys.maxsize
    rows_a_second: int = 5000  # that limit, per second of the time limit
    # A table with more columns, or with more cells (rows times columns beyond the first), gets the plain models only:
    # fitting laws would take long, and the rows speak for themselves.
    most_table_columns: int = 3
    most_cells: int = 4000
    form_columns: int = 3  # columns of a table that small forms are made of
    forms_per_size: int = 12  # small forms of each number of constants that are fitted to y
    forms_made: int = 8  # of these, become formulas: a few more than are shown beside the front
    least_logarithms: float = 1.0  # smallest span of a target that may be a logarithm
    logarithms_reach: float = 20.0  # most rows of such a target are within this distance of the median
    largest_logarithm: float = 100.0  # and within this distance of zero
    logarithms: int = 3  # laws that are fitted until they converge, to its exponential and as many to its reciprocal
    logarithms_rounds: tuple[tuple[int, int], ...] = ((24, 2), (12, 5))  # used in place of `rounds`
    recognised_points: int = 72  # points at which a law must have the formula's values
    recognised_within: float = 1e-6  # share of the spread of these values by which it may differ
    # Rounds of recognition: steps, and the root mean square misfit, in spreads, that must be reached to continue.
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
