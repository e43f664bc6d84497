"""Every operation a second time, in ball arithmetic: what the numbers are, proven, and by how much a computation may miss them."""

from conformance.oracle.answers import Answer, Refused, UnknownError, answer, implementation
from conformance.oracle.attention import BlindError
from conformance.oracle.tensor import Tensor

__all__ = ["Answer", "BlindError", "Refused", "Tensor", "UnknownError", "answer", "implementation"]
