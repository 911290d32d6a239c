"""Find tools by meaning, without a model at run time.

The author embeds the tools and common words once. The file `semantic.postings` contains the similarity of each word to
the nearest tools, as integers; the similarity of a query to a tool is the sum over its words.
"""
