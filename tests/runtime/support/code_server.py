"""Run the program in the first argument, as `python -c` does. Named as a server is, so its start is forked."""

from __future__ import annotations

import sys

code = sys.argv.pop(1)
sys.argv[0] = "-c"
exec(code, {"__name__": "__main__"})
