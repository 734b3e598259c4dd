"""The skills of one Runlore: their files beside their rows, and which of them fit a turn."""
