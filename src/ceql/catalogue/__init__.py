"""What is already known: named laws as data, fitted to a table in milliseconds and recognised in formulas."""
