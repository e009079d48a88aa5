"""Readers of tables in text and other files. Each returns the cells unchanged, under the names in the header."""
