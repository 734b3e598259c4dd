"""What a prompt is given: memories of runs and learnings, in which room, rendered how."""
