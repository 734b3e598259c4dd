"""Whether what prompts are given is worth it: hold-back, outcomes of runs, and the difference between
them."""
