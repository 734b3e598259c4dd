"""How what is found is scored."""
