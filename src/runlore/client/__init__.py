"""The other side of HTTP: a small transport, and all operations over it."""
