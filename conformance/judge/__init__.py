"""The judgement of one value: what came against what is allowed."""
