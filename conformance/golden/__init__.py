"""Golden cases made at check time: calls drawn inside a declaration, with values that the oracle proves in the harness's own process."""
