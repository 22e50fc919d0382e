"""The verdicts of people: an append-only store, its fold, and the queues they work through."""
