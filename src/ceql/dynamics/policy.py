"""Every number that steers the way from a time series to its equations, as data."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SmoothingPolicy:
    """Splines through the samples, penalised for roughness."""

    degree: int = 7
    roughness: tuple[int, ...] = (2, 3, 4)  # derivatives whose squares are tried as the penalty; the best is taken
    caution: float = 1.4  # factor on the degrees of freedom when the strength of the penalty is chosen
    bolder: float = 1.0  # the same for a second path, which stays closer to the samples
    # The second path is used if it leaves less than this share of the noise: the motion may be too fast.
    nearer: float = 0.7
    decades: tuple[float, float] = (-24.0, 8.0)  # range of the penalties that are tried, for samples at unit distance
    steps: int = 129  # number of penalties that are tried
    most_samples: int = 240  # samples per piece; a longer trajectory is smoothed piece by piece
    overlap: int = 40  # samples that neighbouring pieces share
    proportional: float = 20.0  # gain in the criterion needed to treat errors as proportional to a state
    least_size: float = 0.05  # errors in proportion are no smaller than at this share of the largest value of the state
    clean: float = 1e-4  # with less noise than this share of a state's movement, slopes are as good as measured


@dataclass(frozen=True)
class IntegralPolicy:
    """Right-hand sides are integrated along the smoothed path and compared with the states, not with slopes."""

    nodes: int = 4  # points of the quadrature between two samples
    window: int = 40  # samples per window; each starts from a free state, so that errors of the path do not accumulate
    steps: int = 25  # steps of the fit of a candidate's constants
    tiny: float = 1e-4  # this fit ends when steps improve it by less than this share


@dataclass(frozen=True)
class TermPolicy:
    """Sums of terms of a vocabulary, found by extending the best sums of each size."""

    only_powers: bool = False  # use products of powers as the only terms
    degree: int = 3  # highest degree of monomials of several columns
    degree_alone: int = 5  # highest power for a system with a single column
    # With more, monomials have one degree less; from this many on, no terms with two numbers are tried.
    most_columns: int = 3
    # Starting values for a number in a term, times the size of the column: one row for each number of columns, since
    # with fewer columns there is time for more values.
    numbers: tuple[tuple[float, ...], ...] = (
        (0.03, 0.05, 0.08, 0.12, 0.18, 0.28, 0.42, 0.6, 0.9, 1.3, 2.0, 3.5),
        (0.05, 0.12, 0.25, 0.5, 1.0, 2.5),
        (0.1, 0.4, 1.5),
    )
    exponents: tuple[float, ...] = (0.4, 0.75, 1.3, 1.7, 2.5)  # starting values for an exponent
    # Starting values for the middle of a step, as shares of the column's range.
    middles: tuple[float, ...] = (0.2, 0.5, 0.8)
    steepness: tuple[float, ...] = (1.6, 3.5, 7.0)  # starting values for its steepness, per half of the range
    most_terms: int = 6
    cheap: int = 7  # the cheapest terms, from which sums are started, alone and in pairs
    roots: int = 28  # most sums that are started this way
    expansions: int = 50  # sums that are extended after these
    branches: int = 12  # extensions of each kind per sum
    beam: int = 100  # sums of each size that wait to be extended
    kept: int = 8  # sums of each size that become candidates
    # Sums of each size made of fractions alone that become candidates, since their relatives may fit better.
    fractions: int = 3
    # Best sums of any size that become candidates: with noise, many fit equally well until they are fitted fully.
    best: int = 48
    most_rows: int = 600  # samples used to choose sums


@dataclass(frozen=True)
class EliminationPolicy:
    """Polynomials from which terms are removed one after the other."""

    degrees: tuple[int, ...] = (1, 2, 3, 4, 5)
    most_terms: int = 60  # largest number of terms at the start
    share: float = 0.5  # the same as a share of the number of samples
    kept: int = 3  # sums of each degree that are kept


@dataclass(frozen=True)
class WholeFitPolicy:
    """Systems of all powers up to a degree, fitted to the trajectories and reduced there."""

    degrees: tuple[int, ...] = (2,)
    fewest_states: int = 2  # not used for a single state, for which the smooth path says as much
    # Decades of the penalty of the initial path, so small that it passes through the samples.
    through_samples: tuple[float, float] = (-22.0, -22.0)
    most_constants: int = 40  # largest number of constants at the start
    share: float = 0.25  # the same as a share of the number of measured values
    ridge: float = 1e-6  # regularisation of the initial fit along the smooth path
    kept: int = 4  # smaller systems that are then fitted themselves


@dataclass(frozen=True)
class RecombiningPolicy:
    """Terms are removed, added and exchanged in all equations at once, around the best system."""

    fewest_states: int = 2  # not used for a single state, for which the smooth path says as much
    # Weights of the gaps between segments, for the first stage and the second.
    joined: tuple[tuple[float, ...], ...] = ((1.0,), (1.0, 10.0))
    taken_along: int = 3  # systems that go on to the next stage
    # Highest degree of products of powers that may be added, by the number of columns.
    degrees: tuple[int, ...] = (5, 3, 2)
    most_columns: int = 2  # with more columns, further terms come only from candidates
    # Terms from the candidates of an equation that may be added, those of the best candidates first.
    most_terms: int = 24
    expansions: int = 60  # sets of terms from which others are made
    branches: int = 6  # ways of adding one term to a set, or to the set without one of its terms
    kept: int = 5  # sets that are fitted
    turns: int = 4  # how often this is repeated around a better system
    whole_turns: int = 2  # the same once gaps between segments count fully


@dataclass(frozen=True)
class RelativesPolicy:
    """Right-hand sides that are one step away from the best ones."""

    parents: int = 18  # fractions whose relatives are tried, about equally many of each number of constants
    most_constants: int = 6  # fractions with more constants are left out
    saturating: tuple[int, ...] = (1, 2)  # powers of a column that may be added to a denominator
    highest: int = 4  # highest exponent of a column
    most_sums: int = 2  # sums in the denominator of one term
    share: float = 0.5  # starting size of a new term in a denominator, as a share of the denominator
    idle: float = 1e-4  # a formula is dropped if part of a denominator is smaller than this share of its largest part
    steps: int = 6  # steps of a first rough fit
    ahead: int = 24  # best relatives after it, which are fitted fully


@dataclass(frozen=True)
class ShootingPolicy:
    """Whole systems are simulated from states at the start of segments, which are fitted with the constants."""

    segment: int = 4  # fewest samples per segment
    segments: int = 48  # most segments, approximately
    joined: tuple[float, ...] = (1.0, 30.0, 1e3)  # weights of the gaps between segments, in successive fits
    # Weight of the remaining gaps in the misfit, at most: a system gains nothing from gaps that its fit cannot close.
    open: float = 30.0
    steps: int = 12  # steps of each fit
    tiny: float = 1e-3  # a fit ends when steps improve it by less than this share
    # Steps between two samples that are tried; the fewest that meet the tolerance are used.
    substeps: tuple[int, ...] = (1, 2, 4, 8, 16)
    # Simulation errors as shares of a state's movement: the coarse ones suffice while the misfit to the samples is more
    # than `visible` times as large; after that, errors are at most `tolerance`.
    coarse: float = 1e-4
    visible: float = 30.0
    tolerance: float = 1e-7
    of_noise: float = 0.02  # errors up to this share of the noise are always allowed
    difference: float = 1e-6  # relative change of a constant for difference quotients
    farthest: float = 1e3  # a simulated state that is this many times the movement away from the data is given up


@dataclass(frozen=True)
class CandidatePolicy:
    """Right-hand sides that are proposed for an equation."""

    floor: float = 3e-7  # residuals below this share of a state's movement carry no information
    other_degree: int = 5  # degree of the splines of a second path; where the two differ, the path is in doubt
    doubt: float = 2.0  # factor on that difference
    matters: float = 0.3  # sums are searched again if the doubt exceeds this share of what the best candidate leaves
    searched: float = 6.0  # longest search on slopes for one equation, in seconds
    least: float = 0.5  # with fewer seconds it is not started
    share: float = 0.4  # share of the time limit for all such searches
    left_out: float = 0.03  # share of a trajectory that is left out at each end, where slopes are least accurate
    most_rows: int = 400  # slopes that the search uses
    # Levels of doubt at which candidates are ranked, as multiples of the estimated doubt.
    doubted: tuple[float, ...] = (5.0, 30.0, 200.0)
    # Candidates that are kept for each equation: the best; those close to the best by the criterion, which only
    # trajectories can distinguish; and some for each number of constants.
    kept: int = 5
    close: float = 25.0  # largest difference in the criterion
    most_close: int = 16  # most candidates of these two kinds together
    # Numbers of constants for which the best candidates of all equations are tried together.
    together: tuple[int, ...] = (1, 2, 3, 4)
    of_each_size: int = 3  # candidates for each number of constants
    most_constants: int = 10  # candidates with more constants are dropped


@dataclass(frozen=True)
class ChoicePolicy:
    """Which systems are compared by their trajectories. Differences are in the criterion."""

    hopeless: float = 600.0  # a candidate this far behind the best of its equation is not tried
    # Share of the time limit for finding the structure in one trajectory, if each has its own constants.
    structure: float = 0.6
    searching: float = 0.85  # share of the time limit for candidates and their systems
    simplifying: float = 0.94  # share of the time limit after which no more simple numbers are tried
    behind: float = 60.0  # a system this far behind the best, while gaps hardly count, is not fitted any further
    sweeps: int = 2  # passes over the equations in which each is exchanged for its alternatives
    quick: int = 4  # rounds with sums of powers alone, each along the path of the best system, before all other rounds
    murky: float = 0.1  # with noise above this share of a state's movement, these rounds are left out
    rounds: int = 8  # most rounds of candidates, from the second on along the path of the best system
    stands: float = 10.0  # a round that gains less has brought nothing
    # If the best system leaves less than this share of the noise, that noise was an error of smoothing.
    finer: float = 0.3
    taken_along: int = 3  # systems that are fitted again in that case
    floor: float = 1e-6  # errors of simulated states below this share of a state's movement carry no information
    leap: float = 100.0  # an equation counts as the law only if smaller right-hand sides leave this many times as much
    exact: float = 0.1  # a system that leaves less than this share of the floor is exact
    lowest: float = 0.9  # no system can leave less than this share of the noise that smooth paths leave
    alike: float = 8.0  # systems this close to the best are tried with simple numbers, which may distinguish them
    most_alike: int = 3  # most systems that are compared in this way, or by held-out samples
    undecided: float = 2.0  # a system this close to the best comes first if it predicts held-out samples clearly better
    clearly: float = 0.8  # largest ratio of its error on them to that of the first
    most_equal: int = 6  # equally good candidates of an equation that are tried in an exact system
    # A term that contributes less than this share of the variation of a right-hand side may be removed.
    removable: float = 0.3
    snapped: float = 4.0  # largest distance of a constant from a simple number, in standard errors, for it to be tried
    simplest: int = 12  # largest whole number that counts as simple
    followed: int = 24  # best systems that are examined until one can be simulated from beginning to end
    reported: int = 8  # systems that are reported, from that one on


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
