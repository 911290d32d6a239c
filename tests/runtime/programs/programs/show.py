"""Says in JSON what it was given: arguments, environment, working directory, input, and whose session it is in."""

import json
import os
import sys

said = {
    "argv": sys.argv[1:],
    "env": dict(os.environ),
    "cwd": os.getcwd(),  # noqa: PTH109
    "stdin": sys.stdin.buffer.read().decode("utf-8"),
    "leads": os.getsid(0) == os.getpid(),
    "descriptors": [each for each in range(3, 256) if os.path.exists(f"/dev/fd/{each}")],  # noqa: PTH110
}
print(json.dumps(said))  # noqa: T201
