"""Transcripts of other agents: where they lie, and a reader for each format. Nothing is written there."""
