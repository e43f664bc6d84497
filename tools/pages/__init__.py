"""The pages of the schemes, written from the declarations: ``python -m tools.pages [--check]``."""
