"""The SQL of every collection, written once for both databases, with `?` as the placeholder."""
