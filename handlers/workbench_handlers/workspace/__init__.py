"""Access to the user's directories: allowed roots, opening, walking and decoding files."""
