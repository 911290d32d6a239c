"""Whether the program with the large context is there and can be used, and how to set it up."""
