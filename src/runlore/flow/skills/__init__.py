"""Skills: what detectors find in runs, kept as suggestions that wait for a person."""
