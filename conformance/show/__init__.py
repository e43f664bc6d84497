"""What a person sees on a screen."""
