"""Sums of resonances over a frequency whose centres move with the conditions: from measured curves to a formula."""

from ceql.templates.resonance.fit_curves import ResonanceFit, Term, fit_resonances
from ceql.templates.resonance.forms import resonance_template

__all__ = ["ResonanceFit", "Term", "fit_resonances", "resonance_template"]
