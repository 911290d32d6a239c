"""Child process of `worker`: `python -I -S -X utf8 worker_main.py PACKAGES < REQUEST`.

The request is a line of JSON with work and budget, then the body. The answer is the text for the model, or a line of
JSON with the outline of a page and a note, then the JSON text of the document.
"""

import json
import sys
from itertools import chain


def main() -> int:
    """Return 0, or `worker.REFUSED` with the reason on stderr."""
    sys.path.append(sys.argv[1])
    from toolmason_runtime.apis.document import Work, perform, serialized, shown_text
    from toolmason_runtime.remote.parse import RemoteDataError
    from toolmason_runtime.shared.budget import Budget

    described, size, values, depth = json.loads(sys.stdin.buffer.readline())
    work, budget = Work.from_json(described), Budget(bytes=size, values=values, depth=depth)
    try:
        if work.kind == "text":
            parts = shown_text(work, sys.stdin.buffer.read())
        else:
            document = perform(work, sys.stdin.buffer.read(), budget)
            parts = chain([json.dumps([document.page, document.note]), "\n"], serialized(work, document))
        for part in parts:
            sys.stdout.write(part)
        sys.stdout.flush()
    except RemoteDataError as error:
        print(error, file=sys.stderr)  # noqa: T201  read by the parent
        return 3
    except MemoryError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
