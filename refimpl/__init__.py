"""The specification: one short file per positional encoding, in array code that runs on NumPy, CuPy and their kin."""
