"""Add, rename and move tools in the manifest and in all files of the project that name them."""
