"""Detectors: what the runs of a session show that is worth keeping as a skill (SKL-2, SKL-3)."""
