"""The engine: networks and templates become tapes, and the compiled core fits them in batches."""
