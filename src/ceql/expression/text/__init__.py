"""Formulas as text: parsing what people write, and writing text that can be read back."""
