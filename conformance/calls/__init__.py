"""What a call is, what code takes, and how a call can end."""
