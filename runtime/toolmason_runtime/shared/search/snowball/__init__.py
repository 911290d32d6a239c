"""The English stemmer of snowballstemmer 3.1.1 with absolute imports: the whole package has 33 languages.

`generate` stems the words of tools and a server those of queries, so both need the same version.
"""
