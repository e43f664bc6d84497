"""The pages of known mistakes, written from the mutants and the catalogue: ``python -m tools.mistakes [--check]``."""
