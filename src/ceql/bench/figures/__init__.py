"""The figures of `ceql figures`: what complex weights do to a pole, and what the benchmark records show.

`architecture` draws the network, `cancellation` the gradients of single samples for a parameter, `trajectory` the path
of a parameter through the complex plane, `predicted_curves` found formulas with their poles, `comparisons` accuracy
against size and success against the number of columns, and `published_beam` the paper's measured beam. Only
`ceql.output.plots` imports matplotlib.
"""
