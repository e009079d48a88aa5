"""One structure for all groups of rows, with constants that all share and constants that each group has for itself."""
