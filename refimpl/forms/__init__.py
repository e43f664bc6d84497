"""What schemes have in common: a form has slots, and a scheme fills them with what its paper brings."""
