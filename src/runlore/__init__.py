"""Runlore: reviewed memory and earned skills for AI agents.

Nothing is imported eagerly: the hook has to start as fast as an empty Python.
"""

__version__ = "0.1.0"
