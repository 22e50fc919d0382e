"""Collection: the only code that calls adapters. Every call is on disk before it is made, and its end after it."""
