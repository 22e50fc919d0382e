"""Other tools' files → a locked study."""
