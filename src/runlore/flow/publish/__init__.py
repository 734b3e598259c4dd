"""Publish: the moves that make a record active or retire it, each in one transaction."""
