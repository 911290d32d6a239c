"""The program with the large context: which one there is, how it is asked, what it answers and how it fails."""
