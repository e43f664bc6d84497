"""Put every known mistake in the place of code that declares little: it is convicted, or the verdict says that it isn't excluded."""
