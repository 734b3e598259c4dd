"""Provider adapters and versioned prompt files behind `ports/model`."""
