"""What a formula must look like: signs, slopes, limits, symmetries, points and poles; read, proved, checked, fitted."""
