"""What the field already knows: named laws as data, fitted to a table in milliseconds and recognised in a formula."""
