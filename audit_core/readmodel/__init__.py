"""SQLite as a window on verified ledgers: schema, load and read. Deletable and rebuildable at any time."""
