"""From time series to the differential equations behind them, and from rows to the relations that they keep.

`series` holds what was measured, `smoothing` makes states and slopes of it, `candidates` proposes right-hand sides for
each equation, `integral_form` fits them without differences, `shooting` fits whole systems to the trajectories, and
`choosing` takes the system whose trajectories explain the data for the least price.
"""
