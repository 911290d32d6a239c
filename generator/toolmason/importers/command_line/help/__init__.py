"""Create a manifest from the `--help` output of a program."""
