"""Where a person decides: a question in the client, an editor, the terminal, pages in a browser."""
