"""Try a server while it is written: run it again after each change, call its tools, list what it offers."""
