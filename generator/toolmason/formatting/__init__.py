"""Format the TOML of a manifest: one layout and one order of keys, with every comment at its key."""
