"""The output of toolwright: Jinja templates, a folder per kind of file."""
