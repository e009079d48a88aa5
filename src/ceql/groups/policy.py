"""The numbers that steer the search for one law of all groups; they count work, and the clock only ends it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupPolicy:
    """Budgets are counted in rows, starts, steps and structures: a table has the same fits under any load."""

    fewest_rows: int = 2  # of a group: a constant of its own that one row determines says nothing
    screened_rows: int = 240  # of a longer table, on which structures are compared before the better ones are fitted
    fitted_rows: int = 4000  # of a longer table, on which shared and own constants are told apart
    least_rows: int = 6  # of a group, that are kept of it
    most_starts: int = 128  # combinations of starting values that a structure is looked at with in every group
    kept_starts: int = 2  # of these go on in each group, beside the best for all groups together
    extended_constants: int = 3  # laws with more get no offset and no second column
    most_looks: int = 2600  # structures in columns that are looked at
    rounds: tuple[tuple[int, int], ...] = (
        (160, 3),
        (80, 5),
        (36, 12),
    )  # structures of each kind that go on, steps of each
    template_starts: int = 256  # starting values of a template in every group
    last_steps: int = 60  # of a fit of every group for itself
    explored_steps: int = 40  # of a fit of all groups together with one of many splits; it ends
    explored_gain: float = 1e-5  # where a step gains no more than this share of the misfit
    joint_steps: int = 80  # of the fit to all rows
    finished: int = 10  # structures, the best of all, whose constants are told apart,
    finished_per_size: int = 5  # and of each number of constants
    split_constants: int = 6  # structures with more are not looked at: the ways to split them are too many
    alone: int = 2  # groups, the largest, for which forms are looked for by themselves
    alone_rows: int = 10  # that such a group must have
    searched: int = 1  # of these have a search of their own, and so have all rows with y in units of its group
    starts: int = 1500  # of such a search
    share_of_limit: float = 0.25  # that such a search may take
    leading: int = 6  # structures, the best by the criterion, for which simpler numbers and equal constants are tried
    tied_within: float = 3.0  # standard errors by which constants that are taken for one may differ
    simple_within: float = 2.5  # standard errors of a number from a whole or half one that may stand in its place
    same_noise: float = 1.15  # variance of the residuals beside the least that any structure leaves: explained
    vetoed_groups: int = 8  # the largest, in which formulas are looked at between the rows
    loose: float = 0.2  # of the groups, whose rows may leave a constant undetermined; one may not show all of a law
    untold: float = (
        10.0  # times the mean square of a formula with a slow sine, that all others leave: it is no parabola
    )
    vetoed: int = 24  # formulas, the best by the criterion, that are looked at so
    repairs: int = 3  # times that groups which fit badly begin anew from where others are
    odd: float = 4.0  # times the typical mean square of a group, from which it fits badly
    slack: float = 12.0  # of the criterion, by which a way that is worse than the best is still followed
    splits_kept: int = 3  # of a structure, that become formulas


POLICY = GroupPolicy()
