"""Tools that are carried out by a program: which command line, whether it may run, and what came out."""
