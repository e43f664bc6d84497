"""The adapter that the transformers4 modules fill: what only transformers 4.57 still has, in an environment of its own."""

from conformance.adapt.adapter import Adapter
from conformance.adapters.releases import installed

VERSION = installed("transformers", "4.57", target="transformers4", command="check-legacy")
adapter = Adapter("transformers4", framework="torch", dtypes=("float32",), version=VERSION)
