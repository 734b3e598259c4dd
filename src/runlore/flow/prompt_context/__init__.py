"""What goes into prompts, and what is found and shown: ranked, filtered and with its reason."""
