"""Files that are chosen for a question to a model, compared with other ways to choose them."""
