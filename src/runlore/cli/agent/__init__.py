"""Runlore's own agent at a terminal: its screen, its questions, its keys."""
