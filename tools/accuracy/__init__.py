"""Measure how often the harness names a mistake rightly: every known one under a hidden name, and others that no table knows."""
