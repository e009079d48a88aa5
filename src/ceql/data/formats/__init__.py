"""Readers of tables, one module a kind of file. Each gives the cells as they are, under the names in the header."""
