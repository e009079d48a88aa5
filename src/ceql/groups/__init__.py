"""Finding one formula for all groups of rows, with some constants shared by all groups and others fitted per group."""
