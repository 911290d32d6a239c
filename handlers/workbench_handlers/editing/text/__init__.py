"""Pure functions on the bytes of a file: apply the edits of a proposal, find similar text, compare two versions."""
