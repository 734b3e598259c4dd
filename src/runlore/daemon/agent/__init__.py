"""Runlore's own agent at work: runs opened, worked through, journalled, followed, and waited for."""
