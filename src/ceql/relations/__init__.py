"""Relations between the columns of a table, none of which is a target: conserved quantities and equations of state.

`terms` lists functions of the columns, `supports` and `families` look for sets of them with a nearly constant sum,
`vectors` weights the rows, and `candidates` adds formulas of single columns from the search. `fitting` and `finishing`
fit the numbers to noise in all columns and round them, `judging` tests relations on held-out rows and shuffled columns,
and `discovering` calls all of these in this order.
"""
