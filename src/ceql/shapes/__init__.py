"""Required shapes of formulas (signs, slopes, limits, symmetries, points, poles): parsing, proofs, checks and fits."""
