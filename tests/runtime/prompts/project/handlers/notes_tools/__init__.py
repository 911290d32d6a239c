"""A book of notes, for the tests of prompts and resources."""
