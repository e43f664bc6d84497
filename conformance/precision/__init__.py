"""How precise an implementation is: its error against the position, the profile it meets, and what that does to attention logits."""
