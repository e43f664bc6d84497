"""Every operation a second time, in ball arithmetic: what the numbers are, proven, and by how much a computation may miss them."""

from tools.oracle.answers import OPERATIONS, Answer, Refused, answer
from tools.oracle.tensor import Tensor

__all__ = ["OPERATIONS", "Answer", "Refused", "Tensor", "answer"]
