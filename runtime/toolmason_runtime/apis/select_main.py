"""Child process that runs the jq program of a tool: `python -I -S -X utf8 select_main.py DIRECTORY PROGRAM < JSON`.

It prints each result as a line of JSON.
"""

import sys


def main() -> int:
    """Return 0, or 1 with the error on stderr."""
    sys.path.append(sys.argv[1])
    import jq

    try:
        # `import` and `include` read files. jq accepts them only at the start, which the bracket prevents.
        for result in jq.compile(f"(\n{sys.argv[2]}\n) | tojson").input_text(sys.stdin.read()):
            print(result)  # noqa: T201  the result
    except ValueError as error:
        print(error, file=sys.stderr)  # noqa: T201  read by the parent
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
