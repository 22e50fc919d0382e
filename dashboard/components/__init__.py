"""Pieces of the Triage page."""
