"""The figures of `ceql figures`: what complex weights do to a pole, and what the benchmark records show.

`architecture` draws the network, `cancellation` what single samples ask of a parameter, `trajectory` follows one
through the complex plane, `predicted_curves` draws found formulas with their poles, `comparisons` sets accuracy against
size and the rate of success against the number of columns, `published_beam` the paper's measured beam. matplotlib is
imported by `ceql.output.plots` alone.
"""
