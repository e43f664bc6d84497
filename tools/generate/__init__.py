"""Turn the declared cases into vectors: fill the inputs, ask the oracle, write YAML."""
