"""Tools found by meaning: embed tools and common words once, and store their similarity as integers.

A query is approximated by the sum of the vectors of its words, so its similarity to a tool is a sum over its words
that can be stored as BM25 is. The committed file `semantic.postings` has that sum's terms; a server needs no model.
"""
