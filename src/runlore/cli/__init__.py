"""The command line for people: translates arguments to operations and prints their answers."""
