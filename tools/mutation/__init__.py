"""Systematic mistakes: the reference's source is changed in one place at a time, and the suite must see every change."""
