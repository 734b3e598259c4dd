"""Tests of the readers of other agents' transcripts; their samples are made here."""
