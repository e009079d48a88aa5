"""One small module per file format; each turns a file into recordings."""
