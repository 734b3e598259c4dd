"""Hooks of other agents."""
