"""Publish a server: the written rules of registries and directories, and the files that each of them takes."""
