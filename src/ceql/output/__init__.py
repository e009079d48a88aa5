"""Output of formulas: plots, a report, source code in other languages, and the live display."""
