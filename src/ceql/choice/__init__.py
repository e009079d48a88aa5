"""The choice: from many formulas to a front, and from the front to the one that is reported."""
