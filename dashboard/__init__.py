"""The dashboard: formats what the library computes, and computes nothing."""
