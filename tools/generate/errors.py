"""The one exception of the generator."""


class GenerationError(Exception):
    """A case that can't become a vector: one clear line, which names it."""
