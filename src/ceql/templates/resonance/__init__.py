"""Sums of resonances over a frequency whose centres move with the conditions: from measured curves to a formula."""

from ceql.templates.resonance.fit_curves import fit_resonances
from ceql.templates.resonance.forms import resonance_template
from ceql.templates.resonance.result import ResonanceFit, Term

__all__ = ["ResonanceFit", "Term", "fit_resonances", "resonance_template"]
