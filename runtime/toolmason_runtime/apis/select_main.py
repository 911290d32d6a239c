"""Child process for the jq programs of tools: `python -I -S -X utf8 select_main.py DIRECTORY [PROGRAM] < JSON`.

It prints each result of PROGRAM as a line of JSON. Without PROGRAM, it compiles the `programs` of the input, within its
`memory_bytes` and `cpu_s`, and runs none: it prints a line of JSON for each, with the error or an empty string.
"""

import sys

MAX_ERROR_CHARS = 500
"""Maximum characters of an error of the compiler, which quotes the program."""


def main() -> int:
    """Return 0, or 1 with the error on stderr."""
    sys.path.append(sys.argv[1])
    import jq

    forbid_files()
    if len(sys.argv) < 3:
        print_compile_errors(jq)
        return 0
    try:
        for result in jq.compile(wrapped(sys.argv[2])).input_text(sys.stdin.read()):
            print(result)  # noqa: T201  the result
    except ValueError as error:
        print(error, file=sys.stderr)  # noqa: T201  read by the parent
        return 1
    return 0


def wrapped(program: str) -> str:
    """Return a program as it is compiled and run.

    `import` and `include` read files. jq accepts them only at the start, which the bracket prevents.
    """
    return f"(\n{program}\n) | tojson"


def forbid_files() -> None:
    """Let this process open no further file: jq looks for `~/.jq` and for the module of `modulemeta`."""
    import time

    time.localtime()  # reads the time zone
    set_limit("RLIMIT_NOFILE", 0)


def set_limit(name: str, limit: int) -> None:
    """Set a limit of the system, if it has it and grants it. Windows has none."""
    try:
        import resource

        resource.setrlimit(getattr(resource, name), (limit, limit))
    except (ImportError, AttributeError, ValueError, OSError):
        return


def print_compile_errors(jq) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001  has no types
    """Compile the programs of stdin, and print the error of each."""
    import json

    request = json.load(sys.stdin)
    set_limit("RLIMIT_AS", request["memory_bytes"])
    set_limit("RLIMIT_CPU", request["cpu_s"])
    for program in request["programs"]:
        error = ""
        try:
            jq.compile(wrapped(program))
        except ValueError as problem:
            error = str(problem)[:MAX_ERROR_CHARS] or "it is invalid"
        print(json.dumps(error), flush=True)  # noqa: T201  read by the parent


if __name__ == "__main__":
    sys.exit(main())
