"""The daemon as a process: its lock, sockets, tokens, log and life."""
