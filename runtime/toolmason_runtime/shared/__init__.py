"""What the toolkit and its servers share: the catalogue, specifications of tools, TOML, checks of values."""
