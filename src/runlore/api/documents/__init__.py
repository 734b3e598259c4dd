"""The documents that the API answers with, as JSON schemas by name. `daemon.answers` writes them."""
