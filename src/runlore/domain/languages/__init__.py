"""The words by which lasting statements are told, one table for each language; speakers extend these."""
