"""The operations, the wiring that alone picks implementations, and what happens at start-up."""
