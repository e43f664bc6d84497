"""The site: every document as it is, the declarations' docstrings, and the pictures, searchable without a network."""
