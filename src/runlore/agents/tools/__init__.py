"""The tools of Runlore's own agent, each with what its model is told of it."""
