"""What a verdict rests on: golden cases that were drawn and judged, known mistakes that they would have convicted."""
