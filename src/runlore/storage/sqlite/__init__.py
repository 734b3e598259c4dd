"""SQLite: one file in the state root, one writer with group commit, readers beside it."""
