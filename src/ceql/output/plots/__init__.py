"""Pictures of a fitted model, one module each.

They are the only modules that import matplotlib, and only when a picture is asked for. Every function takes a formula,
the data and optionally the axes to draw in, and returns the axes.
"""
