"""Adapters that come with the suite: the reference itself, and released libraries judged as their users call them."""
