"""Create reviews, store them in the user's state directory, and end them: write the file, or report a conflict."""
