"""The adapter that the mlx-lm modules fill: written for mlx-lm 0.32.2, other releases are accepted and reported."""

from importlib.metadata import version

from conformance.adapt.adapter import Adapter

SUPPORTED = "0.32.2"

adapter = Adapter("mlx_lm", framework="mlx", version=version("mlx-lm"))
