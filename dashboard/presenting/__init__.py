"""Presenter mode: Summary and selected flips full screen, in large type, safe to show."""
