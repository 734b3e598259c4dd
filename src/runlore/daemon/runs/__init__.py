"""Runs: opened with their context, found by their callers, ended."""
