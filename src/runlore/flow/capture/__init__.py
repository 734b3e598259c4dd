"""Capture: sessions, runs and journals as agents report them, and what is remembered of a run that ended."""
