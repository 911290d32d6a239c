"""Pure functions: from the parameters of a proposal and the bytes of a file to new bytes, and differences of bytes."""
