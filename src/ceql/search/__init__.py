"""The search: targets take turns, starts are proposed, fitted and reduced, and what is left becomes formulas."""
