"""What people get to see of a formula: plots, a report, source code in other languages, a live line."""
