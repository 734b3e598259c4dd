"""Provider adapters and versioned prompt files behind `ports/model`. Filled by the learning plane."""
