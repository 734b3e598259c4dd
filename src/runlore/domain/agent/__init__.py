"""Runlore's own agent: its profiles, and which of its calls are made."""
