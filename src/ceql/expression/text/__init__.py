"""Formulas as text: reading what people write, writing what can be read back."""
