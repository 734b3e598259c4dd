"""Project: what is found and shown again, ranked, filtered and with its reason."""
