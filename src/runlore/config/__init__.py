"""Settings: defaults, `config.toml`, environment and flags, read once into one frozen value."""
