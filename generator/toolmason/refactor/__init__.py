"""Rename and move tools: in the manifest, and in everything of the project that names them."""
