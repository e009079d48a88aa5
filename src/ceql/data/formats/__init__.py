"""Readers of tables, of text and of other files. Each gives the cells as they are, under the names in the header."""
