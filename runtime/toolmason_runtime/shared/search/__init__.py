"""Full-text search over tools."""
