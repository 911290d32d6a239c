"""What the shipped tools do."""
