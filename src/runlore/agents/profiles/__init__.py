"""The kinds of agents there are, as data: a table of tools and limits, and words in a file beside it."""
