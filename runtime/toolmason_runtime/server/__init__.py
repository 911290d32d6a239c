"""The command that starts a server: options, lifespan, logging."""
