"""What the book tools do."""
