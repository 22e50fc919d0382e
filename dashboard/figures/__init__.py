"""Pure functions from rows to figures."""
