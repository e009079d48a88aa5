"""The numbers that steer the search for one law of all groups; they count work, and the clock only ends it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupPolicy:
    """Budgets are counted in rows, starts, steps and structures: a table has the same fits under any load."""

    fewest_rows: int = 2  # fewest rows of a group: a constant determined by a single row says nothing
    screened_rows: int = 240  # rows of a longer table on which structures are compared
    fitted_rows: int = 4000  # rows of a longer table on which shared and own constants are distinguished
    least_rows: int = 6  # rows that are kept of each group when a table is thinned
    most_starts: int = 128  # combinations of starting values for a structure, tried in every group
    kept_starts: int = 2  # best of these for each group, besides the best for all groups together
    extended_constants: int = 3  # laws with more constants get no offset and no second column
    most_looks: int = 2600  # assignments of structures to columns that are tried
    # Per round: structures of each kind that continue, and steps for each.
    rounds: tuple[tuple[int, int], ...] = ((160, 3), (80, 5), (36, 12))
    template_starts: int = 256  # starting values of a template in every group
    last_steps: int = 60  # steps of a fit of every group by itself
    explored_steps: int = 40  # steps of a fit of all groups with one way of sharing constants
    explored_gain: float = 1e-5  # such a fit ends when a step lowers the misfit by less than this share
    joint_steps: int = 80  # steps of the fit to all rows
    finished: int = 10  # best structures of all for which shared constants are determined
    finished_per_size: int = 5  # the same for each number of constants
    split_constants: int = 6  # structures with more constants are skipped: there are too many ways to share them
    alone: int = 2  # largest groups for which formulas are searched separately
    alone_rows: int = 10  # fewest rows of such a group
    searched: int = 1  # of these, get a full search; so do all rows, with y in units of its group
    starts: int = 1500  # starts of such a search
    share_of_limit: float = 0.25  # share of the time limit for such a search
    leading: int = 6  # best structures for which simpler numbers and equal constants are tried
    tied_within: float = 3.0  # standard errors by which two constants may differ to be taken as one
    # Standard errors by which a constant may differ from a whole or half number that replaces it.
    simple_within: float = 2.5
    vetoed_groups: int = 8  # largest groups in which formulas are examined between the rows
    # Share of the groups whose rows may leave a constant undetermined, since a group may not show all of a law.
    loose: float = 0.2
    # A sine struck for turning too slowly comes back if all other formulas leave at least this many times its mean
    # square: then it cannot be replaced by a parabola.
    untold: float = 10.0
    vetoed: int = 24  # best formulas that are examined this way
    repairs: int = 3  # attempts to restart badly fitting groups from the constants of others
    odd: float = 4.0  # a group fits badly if its mean square is this many times the typical one
    # A way of sharing constants is followed while it is no further than this behind the best, by the criterion.
    slack: float = 12.0
    splits_kept: int = 3  # ways of sharing the constants of a structure that become formulas


POLICY = GroupPolicy()
