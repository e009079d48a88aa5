"""Sums of resonances over frequency whose centres depend on conditions: from measured curves to a formula."""

from ceql.templates.resonance.fit_curves import ResonanceFit, Term, fit_resonances
from ceql.templates.resonance.forms import resonance_template

__all__ = ["ResonanceFit", "Term", "fit_resonances", "resonance_template"]
