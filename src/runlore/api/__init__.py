"""The HTTP surface. Translates requests to operations and decides nothing."""
