"""Capture: what a finished run left becomes candidates. Filled by the learning plane."""
