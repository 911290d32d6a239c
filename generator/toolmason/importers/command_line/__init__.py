"""Create tools from descriptions of command lines: the output of `--help`, or the YAML of CLImax."""
