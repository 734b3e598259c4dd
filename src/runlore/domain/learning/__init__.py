"""What is taken from a run, and whose words it is."""
