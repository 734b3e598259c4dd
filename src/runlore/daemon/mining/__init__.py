"""Transcripts of other agents on this machine: found, read, mined, and brought into the store."""
