"""The harness: checks anyone's implementation against vectors and laws, and says which known mistake it sees."""

from conformance.adapter import Adapter, Unsupported

__all__ = ["Adapter", "Unsupported"]
