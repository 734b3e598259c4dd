"""Policies: their fields, and what their rules come to."""
