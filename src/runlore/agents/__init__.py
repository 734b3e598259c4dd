"""Readers of other agents' transcripts, and Runlore's own agent: its loop, its tools, its profiles."""
