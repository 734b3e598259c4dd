"""Review: what waits, what a decision on it would do, and the sources checked again."""
