"""The indexes and vectors behind search, kept up with the store."""
