"""The output of toolmason: Jinja templates, a folder per kind of file."""
