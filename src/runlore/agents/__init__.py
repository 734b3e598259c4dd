"""Readers of other agents' transcripts; the agent loop and its tools come with a later issue."""
