"""The properties that an ideal positional encoding has, measured on the reference of every scheme."""
