"""What an implementer writes, and how calls are made to fit it: arrays of a framework, rows of a batch."""
