"""The agent loop, its tools, and readers of other agents' transcripts. Filled by the skills issues."""
