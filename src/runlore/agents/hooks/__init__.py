"""Hooks of other agents: what they report, what they are answered, and how they are installed."""
