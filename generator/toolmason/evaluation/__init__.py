"""`toolmason eval`: measure the search of a server with queries whose correct tools are known."""
