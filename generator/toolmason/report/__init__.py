"""`toolmason report`: one page about a server, from the results of the other commands."""
