"""The engine: fits networks and templates, recorded as tapes, in batches in the compiled core."""
