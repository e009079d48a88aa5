"""The figures of `ceql figures`: what complex weights do to a pole, and what the benchmark records show.

`trajectory` follows one parameter through the complex plane, `predicted_curves` draws found formulas with their poles,
`comparisons` sets accuracy against size and the rate of success against the number of variables. matplotlib is imported
by `ceql.output.plots` alone.
"""
