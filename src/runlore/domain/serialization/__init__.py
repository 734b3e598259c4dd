"""JSON from types: how it is written, read and described."""
