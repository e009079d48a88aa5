"""Plots of a fitted model, one module each.

Only these modules import matplotlib, and only when a plot is requested. Every function takes a formula, the data and
optionally the axes to draw in, and returns the axes.
"""
