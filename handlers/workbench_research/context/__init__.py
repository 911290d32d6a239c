"""The files of a question: which ones, in which form, and what is left out."""
