"""`toolmason eval`: measure the search of a server with queries whose right answers are known."""
