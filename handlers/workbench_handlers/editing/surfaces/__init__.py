"""The surfaces on which a person decides a review: a question in the client, an editor, a terminal, a web page."""
