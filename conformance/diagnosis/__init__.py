"""The parts of a diagnosis: what was seen, what could explain it, how well, and what is known where nothing does."""
