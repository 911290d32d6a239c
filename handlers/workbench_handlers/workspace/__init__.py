"""The user's directories: which may be read, opening, walking and decoding their files."""
