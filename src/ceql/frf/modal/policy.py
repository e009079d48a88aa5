"""The numbers that steer a modal analysis, each with a sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModalPolicy:
    """What the identification of modes goes by."""

    most_modes: int = 30  # in the band; a greedy search stops earlier where the data support no more
    highest_order: int = 48  # of the polynomial whose roots are offered as poles
    rows_per_order: float = 3.0  # frequencies that a coefficient of that polynomial needs
    components: int = 6  # principal curves in place of many points while poles are looked for
    search_points: int = 2000  # of a curve while modes are looked for; the last fit sees all
    arc: float = 3.0  # radians of the unit circle onto which the band is laid
    same_frequency: float = 0.01  # poles of two orders this close, relative to the frequency, may be the same mode
    same_cluster: float = 0.003  # stable poles of all orders are one group while no gap is wider than that
    same_damping: float = 0.2  # and whose damping ratios differ by no more than this share
    highest_damping: float = 0.5  # a pole offered with more damping describes no resonance
    beyond_band: float = 0.1  # of the band: how far outside it a pole may be offered
    model_error: float = 0.02  # of the magnitude: no linear model describes a measurement more closely than that
    neighbourhood: float = 0.05  # share of a frequency within which the size of the curves sets its weight
    price: float = 1.5  # of a parameter, in units of half the logarithm of the number of values
    least_gain: float = 0.05  # share of the sum of squares that a mode must explain which the polynomials do not show
    tried: int = 3  # further poles that are refined before a search for more ends
    same_shape: float = 0.9  # two poles within each other's width whose MAC is higher describe one mode
    widening: tuple[float, ...] = (1.0, 4.0)  # factors on the damping where a refinement begins: wide poles see farther
    reach: float = 8.0  # half widths of a mode around it that its pole is refined on in the end
    least_window: int = 12  # frequencies that such a window has at least on each side
    noise_like: float = 2.0  # times the noise's variance: a window that is left with less is described well enough
    settled: float = 1e-3  # half widths: windows are gone through until no pole moves more
    alignments: int = 2  # rounds in which modes whose frequency differs from point to point are laid onto one pole
    rounds: int = 3  # in which all windows are gone through
    trial_steps: int = 8  # of the refinement that shows whether a further mode pays
    steps: int = 30  # of the refinement of all modes while they are looked for, and of a window
    last_steps: int = 12  # of the last one on all frequencies
    explored: int = 5  # repetitions of a condition in which modes are looked for; the others are refined from these
    recurs: float = 0.5  # share of the explored repetitions in which a mode must be found
    same_mode: float = 0.03  # share of a frequency by which a mode may differ from repetition to repetition
    moves: float = 0.08  # and from one condition to the next
    background: float = 0.1  # a damping ratio beyond which a pole is a slope of the background rather than a resonance
    undetermined: float = 0.3  # relative standard error in a single fit from which on damping is not determined
    often: float = 0.75  # share of the repetitions in which a mode must be found to be free of a flag
    stable_share: float = 0.3  # share of the model orders in which it must be found
    certain: float = 0.1  # relative standard error of damping below which it need not: orders see a close pair as one
    narrow: float = 0.25  # steps of the frequency: a mode with less half width may be a single disturbed line
    faint: float = 0.003  # of the highest peak
