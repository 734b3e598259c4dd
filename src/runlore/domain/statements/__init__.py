"""What users say that lasts: found in their own words without a model, ranked, each with its reasons."""
