"""What is specified: declarations, vectors, profiles, and which values suit a parameter."""
