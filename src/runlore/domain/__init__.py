"""Pure values, rules and one transition table per state machine.

Nothing here reads a file, a clock, a database or the network: `now` and ids are handed in.
"""
