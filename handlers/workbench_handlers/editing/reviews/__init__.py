"""Reviews: their files in the state directory, and their life from a proposal to a written file."""
