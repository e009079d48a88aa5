"""The numbers that steer a modal analysis, each with a sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModalPolicy:
    """Numbers used in the identification of modes."""

    most_modes: int = 30  # most modes in the band; the search stops earlier if the data support no more
    highest_order: int = 48  # highest order of the polynomial whose roots are proposed as poles
    rows_per_order: float = 3.0  # frequencies needed per coefficient of this polynomial
    components: int = 6  # principal curves that replace many points in the search for poles
    search_points: int = 2000  # frequencies used while modes are searched; the last fit uses all
    arc: float = 3.0  # angle of the unit circle onto which the band is mapped, in radians
    # Largest relative difference in frequency of poles of two orders that may be the same mode.
    same_frequency: float = 0.01
    # Stable poles of all orders form one group while gaps are no wider than this share of the frequency.
    same_cluster: float = 0.003
    same_damping: float = 0.2  # largest relative difference in their damping ratios
    highest_damping: float = 0.5  # a pole with a larger damping ratio describes no resonance
    beyond_band: float = 0.1  # how far outside the band a pole may lie, as a share of the band
    model_error: float = 0.02  # no linear model describes a measurement more closely than this share of the magnitude
    # Range around a frequency in which the size of the curves sets its weight, as a share of the frequency.
    neighbourhood: float = 0.05
    price: float = 1.5  # price of a parameter, in units of half the logarithm of the number of values
    least_gain: float = 0.05  # share of the sum of squares that a further mode must explain
    tried: int = 3  # further poles that are refined before the search for more ends
    same_shape: float = 0.9  # two poles within each other's width describe one mode if their MAC is higher
    # Factors on the damping from which a refinement starts, since wide poles see farther.
    widening: tuple[float, ...] = (1.0, 4.0)
    reach: float = 8.0  # half widths around a mode that its final refinement covers
    least_window: int = 12  # fewest frequencies of such a window on each side
    # A window with less residual, relative to the variance of the noise, is described well enough.
    noise_like: float = 2.0
    settled: float = 1e-3  # windows are refined until no pole moves by more than this many half widths
    alignments: int = 2  # rounds in which modes whose frequency differs between points are aligned to one pole
    rounds: int = 3  # rounds over all windows
    trial_steps: int = 8  # steps of the refinement that shows whether a further mode pays
    steps: int = 30  # steps of the refinement of all modes during the search, and of a window
    last_steps: int = 12  # steps of the last refinement on all frequencies
    explored: int = 5  # repetitions of a condition in which modes are searched; the others are refined from these
    recurs: float = 0.5  # share of these repetitions in which a mode must be found, and of the upper model orders
    same_mode: float = 0.03  # largest relative difference in frequency of a mode between repetitions
    moves: float = 0.08  # the same between one condition and the next
    background: float = 0.1  # a pole with a larger damping ratio is a slope of the background, not a resonance
    undetermined: float = 0.3  # damping is undetermined if its relative standard error in a single fit reaches this
    often: float = 0.75  # share of the repetitions in which a mode must be found to avoid a flag
    stable_share: float = 0.3  # share of the model orders in which it must be found
    # With a smaller relative standard error of damping it need not: high orders see a close pair as one.
    certain: float = 0.1
    narrow: float = 0.25  # a mode with a smaller half width, in frequency steps, may be a single disturbed line
    faint: float = 0.003  # a mode with a smaller peak, as a share of the highest one, is flagged as faint
