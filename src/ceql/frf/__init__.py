"""Frequency response functions: from measured files to a formula of frequency and condition.

`readers` turns files into `Measurements`. `analysis` fits the resonance template to their means and compares it with
held-out repetitions and conditions. `summary` and `pictures` show the result. `beam` is a simulated beam with known
modes, for users without measurements.
"""
