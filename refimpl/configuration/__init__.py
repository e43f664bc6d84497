"""Published configurations: what a ``config.json`` says about positions, as operations of the schemes with their parameters.

``read`` explains every decision with the key that it comes from, and names what is wrong. ``frequencies``, ``attention_factor``, ``scale``
and ``rotate`` compute by calling our operations; they are plain functions for now, no declared operations. Nothing is guessed: a default
that is assumed says so, a contradiction is an error, and a scheme that posenc doesn't have is said to be missing.
"""

from refimpl.configuration.computing import ConfigurationWarning, attention_factor, chosen, frequencies, rotate, rotate_on_axes, scale
from refimpl.configuration.findings import Decision, Finding, Kind, Reading, Rotation
from refimpl.configuration.reading import read

__all__ = [
    "ConfigurationWarning",
    "Decision",
    "Finding",
    "Kind",
    "Reading",
    "Rotation",
    "attention_factor",
    "chosen",
    "frequencies",
    "read",
    "rotate",
    "rotate_on_axes",
    "scale",
]
