"""Compare `toolmason diff` with other programs that compare lists of tools: `python -m bench.diff`."""
