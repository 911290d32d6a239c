"""Other descriptions of programs, turned into a manifest or a part of one, with a list of what could not be."""
