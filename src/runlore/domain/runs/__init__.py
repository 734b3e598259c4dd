"""Runs, their sessions and journals, the jobs that follow them, and runs that are imported."""
