"""Frequency response functions: from measured files to a formula of frequency and condition.

`readers` turns files into `Measurements`; `analysis` fits the resonance template to their means and compares it with
repetitions and conditions that the fit never saw; `summary` and `pictures` show the result. `beam` is a small beam with
known truth for those who have no measurements at hand.
"""
