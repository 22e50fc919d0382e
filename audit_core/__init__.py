"""Snapshot Audit: how far a RAG system's answers moved when its index changed, beyond repeat noise."""

__version__ = "0.1.0"
