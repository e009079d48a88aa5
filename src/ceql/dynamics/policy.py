"""Every number that steers the way from a time series to its equations, as data."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SmoothingPolicy:
    """Splines through the samples, penalised by how rough they are."""

    degree: int = 7
    roughness: tuple[int, ...] = (2, 3, 4)  # derivatives whose squares may be the penalty; the best is taken
    caution: float = 1.4  # times which each degree of freedom counts in the choice of the penalty,
    bolder: float = 1.0  # or so many times, where that leaves the samples
    nearer: float = 0.7  # times as much: the motion may be too fast for its samples, and trajectories decide
    decades: tuple[float, float] = (-24.0, 8.0)  # of the penalties that are tried, in units of the samples' distance
    steps: int = 129  # how many of them are tried
    most_samples: int = 240  # in one piece of a trajectory; a longer one is smoothed piece by piece,
    overlap: int = 40  # with this many samples in common
    proportional: float = 20.0  # in the criterion: by so much errors in proportion to a state must explain more
    least_size: float = 0.05  # of the largest value of a state: errors in proportion are no smaller
    clean: float = 1e-4  # of a state's movement: below such noise slopes are as good as measured


@dataclass(frozen=True)
class IntegralPolicy:
    """Right-hand sides are integrated along the smoothed path and compared with the states, not with slopes."""

    nodes: int = 4  # of the quadrature between two samples
    window: int = 40  # samples, each with a free state at its begin: errors of the path do not pile up any longer
    steps: int = 25  # of the fit of a candidate's constants,
    tiny: float = 1e-4  # which ends when steps improve it by less than this share


@dataclass(frozen=True)
class TermPolicy:
    """Sums of terms of a vocabulary, found by extending the best of each size."""

    only_powers: bool = False  # whether there are no terms but products of powers
    degree: int = 3  # of monomials of several columns
    degree_alone: int = 5  # of powers of a single state's system
    most_columns: int = 3  # with more, monomials have one degree less; with as many, no step with two numbers is tried
    # Values that a number in a term begins with, times the column's size: the fewer columns, the more of them.
    numbers: tuple[tuple[float, ...], ...] = (
        (0.03, 0.05, 0.08, 0.12, 0.18, 0.28, 0.42, 0.6, 0.9, 1.3, 2.0, 3.5),
        (0.05, 0.12, 0.25, 0.5, 1.0, 2.5),
        (0.1, 0.4, 1.5),
    )
    exponents: tuple[float, ...] = (0.4, 0.75, 1.3, 1.7, 2.5)  # that one of a power begins with
    middles: tuple[float, ...] = (0.2, 0.5, 0.8)  # of a column's range, at which a step begins to be sought,
    steepness: tuple[float, ...] = (1.6, 3.5, 7.0)  # and how steep, in halves of the range
    most_terms: int = 6
    cheap: int = 7  # terms that sums begin with, alone and in pairs,
    roots: int = 28  # at most so many; after them
    expansions: int = 50  # sums that are extended
    branches: int = 12  # ways of each kind to extend one
    beam: int = 100  # sums of each size that wait to be extended
    kept: int = 8  # sums of each size that become candidates,
    fractions: int = 3  # of those that are made of fractions alone, which may have relatives that do better,
    best: int = 48  # and of any size: with noise, many explain a state about as well, and fits tell them apart
    most_rows: int = 600  # samples that sums are chosen by


@dataclass(frozen=True)
class EliminationPolicy:
    """Polynomials from which terms go, one after the other."""

    degrees: tuple[int, ...] = (1, 2, 3, 4, 5)
    most_terms: int = 60  # to begin with,
    share: float = 0.5  # and at most so many of the samples
    kept: int = 3  # sums of each degree


@dataclass(frozen=True)
class WholeFitPolicy:
    """Systems of all powers, fitted to the trajectories and taken down there."""

    degrees: tuple[int, ...] = (2,)
    fewest_states: int = 2  # of one state the smooth path tells as much
    through_samples: tuple[float, float] = (-22.0, -22.0)  # decades of the penalty of the path that they begin with
    most_constants: int = 40  # to begin with,
    share: float = 0.25  # and at most so many of the values that were measured
    ridge: float = 1e-6  # of a term, in the fit along the smooth path that this begins with
    kept: int = 4  # systems on the way down that are fitted themselves


@dataclass(frozen=True)
class RecombiningPolicy:
    """Terms that go, come and change places in all equations at once, around the best system."""

    fewest_states: int = 2  # of one the smooth path tells as much
    joined: tuple[tuple[float, ...], ...] = ((1.0,), (1.0, 10.0))  # how much gaps count at first, and then,
    taken_along: int = 3  # systems that go on from there
    degrees: tuple[int, ...] = (5, 3, 2)  # of the products of powers that may come, by the number of columns
    most_columns: int = 2  # with more, terms of the dictionary come from candidates alone
    most_terms: int = 24  # of the candidates of an equation that may come, those of the best first
    expansions: int = 60  # sets of terms from which others are made,
    branches: int = 6  # ways at most to add one term to a set, or to what is left of it without one
    kept: int = 5  # sets that are fitted,
    turns: int = 4  # and how often this begins again around a better system,
    whole_turns: int = 2  # and where trajectories are whole


@dataclass(frozen=True)
class RelativesPolicy:
    """Right-hand sides that are one step away from the best ones."""

    parents: int = 18  # that have relatives, as many of each number of constants,
    most_constants: int = 6  # which are at most so many
    saturating: tuple[int, ...] = (1, 2)  # powers of a column that come into a denominator
    highest: int = 4  # exponent of a column
    most_sums: int = 2  # in the denominator of one term
    share: float = 0.5  # of a denominator, that a further term in it begins with
    idle: float = 1e-4  # of a denominator: one with a smaller part says no more than it does without
    steps: int = 6  # of a first fit; those go on
    ahead: int = 24  # that are best then


@dataclass(frozen=True)
class ShootingPolicy:
    """Whole systems are simulated from states at the begin of segments, which are fitted with the constants."""

    segment: int = 4  # samples at least,
    segments: int = 48  # and about this many segments at most
    joined: tuple[float, ...] = (1.0, 30.0, 1e3)  # how much a gap between segments counts, one after the other,
    open: float = 30.0  # and at most in what is left: a system is no better for gaps that its fit could not close
    steps: int = 12  # of each fit,
    tiny: float = 1e-3  # which ends when steps improve it by less than this share
    substeps: tuple[int, ...] = (1, 2, 4, 8, 16)  # between two samples: as few as the tolerance allows
    coarse: float = 1e-4  # of a state's movement: errors of the simulation that do as long as more than
    visible: float = 30.0  # times as much is left of the samples; else
    tolerance: float = 1e-7  # they are this small,
    of_noise: float = 0.02  # or this share of the noise where that is more
    difference: float = 1e-6  # of a constant, to see what it does
    farthest: float = 1e3  # times the movement of the data: a simulated state beyond is lost


@dataclass(frozen=True)
class CandidatePolicy:
    """Right-hand sides that are proposed for an equation."""

    floor: float = 3e-7  # of a state's movement: residuals below it say nothing
    other_degree: int = 5  # of another smooth path: by how far it leads elsewhere, the path is in doubt
    doubt: float = 2.0  # times which that difference counts
    matters: float = 0.3  # of what the best candidate leaves: less doubt is no reason to seek sums once more
    searched: float = 6.0  # seconds at most of the search on slopes for one equation
    least: float = 0.5  # seconds, below which it is not worth it
    share: float = 0.4  # of the time limit that all such searches may take
    left_out: float = 0.03  # of a trajectory at each end, where slopes are least known
    most_rows: int = 400  # slopes that the search sees
    doubted: tuple[float, ...] = (5.0, 30.0, 200.0)  # times its doubt that the path may be wrong
    kept: int = 5  # candidates of each equation that are best,
    close: float = 25.0  # and those that are no worse by more, in the criterion, which only trajectories tell apart,
    most_close: int = 16  # at most so many of both,
    together: tuple[int, ...] = (1, 2, 3, 4)  # numbers of constants that all equations may have at once
    of_each_size: int = 3  # and of those with the same number of constants,
    most_constants: int = 10  # which are at most so many


@dataclass(frozen=True)
class ChoicePolicy:
    """Which systems are compared by their trajectories."""

    hopeless: float = 600.0  # by so much worse than the best of its equation a candidate is not tried
    structure: float = 0.6  # of the time limit for one trajectory, where others have constants of their own
    searching: float = 0.85  # of the time limit for candidates and their systems; the rest is for simple numbers
    simplifying: float = 0.94  # of the time limit by which these are tried; the rest is for what is reported
    behind: float = 60.0  # by so much worse than the best a system whose segments are loose is not fitted any further
    sweeps: int = 2  # over the equations, each exchanged for its alternatives
    quick: int = 4  # rounds at most of sums of powers alone along the path of the best, before those
    murky: float = 0.1  # of a state's movement: with more noise than this there are none of these
    rounds: int = 8  # of candidates at most: from the second on, along the path that the best system takes
    stands: float = 10.0  # of the criterion: a round that gains less has brought nothing
    finer: float = 0.3  # of the noise so far: where the best system leaves less, the noise was an error of smoothing
    taken_along: int = 3  # systems that are fitted again then
    floor: float = 1e-6  # of a state's movement: simulated states that are nearer to the samples say nothing
    leap: float = 100.0  # times which smaller right-hand sides leave more than one that is thought to be the law
    exact: float = 0.1  # times this floor: what is nearer is exact
    lowest: float = 0.9  # of the noise that smooth paths leave: no system can leave less
    alike: float = 8.0  # of the criterion: systems that are no worse by more may be told apart by simple numbers,
    most_alike: int = 3  # at most so many,
    undecided: float = (
        2.0  # of the criterion: one that is no worse by more comes first if it foretells held-out samples
    )
    clearly: float = 0.8  # times as far off, or nearer,
    most_equal: int = 6  # and equations of what settles the search are exchanged for so many that fit as well
    removable: float = 0.3  # of the motion of a slope: smaller terms are tried without
    snapped: float = 4.0  # errors by which a constant may miss a simple number to be tried as one
    simplest: int = 12  # whole numbers up to this one are simple
    followed: int = 24  # of the best systems at most, until one does not break off on the way,
    reported: int = 8  # from which on so many are reported


@dataclass(frozen=True)
class DynamicsPolicy:
    """All of them."""

    smoothing: SmoothingPolicy = field(default_factory=SmoothingPolicy)
    integral: IntegralPolicy = field(default_factory=IntegralPolicy)
    terms: TermPolicy = field(default_factory=TermPolicy)
    elimination: EliminationPolicy = field(default_factory=EliminationPolicy)
    whole_fits: WholeFitPolicy = field(default_factory=WholeFitPolicy)
    recombining: RecombiningPolicy = field(default_factory=RecombiningPolicy)
    relatives: RelativesPolicy = field(default_factory=RelativesPolicy)
    candidates: CandidatePolicy = field(default_factory=CandidatePolicy)
    shooting: ShootingPolicy = field(default_factory=ShootingPolicy)
    choice: ChoicePolicy = field(default_factory=ChoicePolicy)


SMOOTHING, INTEGRAL, TERMS = SmoothingPolicy(), IntegralPolicy(), TermPolicy()
ELIMINATION, RELATIVES, SHOOTING = EliminationPolicy(), RelativesPolicy(), ShootingPolicy()
