"""The one exception that the reference raises for bad input."""


class SpecificationError(ValueError):
    """An argument that breaks a rule of the specification: ``<thing> must <rule>, got <value>``."""
