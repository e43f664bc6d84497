"""The process of the implementation, and what keeps it apart."""
