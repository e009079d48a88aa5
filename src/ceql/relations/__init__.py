"""Relations between the columns of a table, none of which is a target: conserved quantities and equations of state.

`terms` lays out functions of the columns, `supports` and `families` look for sets of them of which some sum is nearly
constant, `vectors` weighs the rows, `candidates` adds formulas of single columns by the search, `fitting` and
`finishing` fit the numbers to noise in all columns and write them short, `judging` asks rows held out and shuffled
columns, and `discovering` calls all of these in this order.
"""
