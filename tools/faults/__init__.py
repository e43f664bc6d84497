"""Everything that an implementation may do to the harness, as adapters that do it."""
