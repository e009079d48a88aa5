"""One module per file format, each of which turns a file into recordings."""
