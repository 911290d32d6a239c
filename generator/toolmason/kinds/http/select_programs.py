"""The jq programs of `select`, compiled as a server runs them.

A project may be a stranger's, and the compiler reads the modules that a program imports. So all programs of a run are
compiled in one child process with limits of time and memory, which refuses `import` and `include` and can open no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import version
from typing import Final

from toolmason.store import Store

MAX_PROGRAM_BYTES: Final = 64 * 1024
"""Maximum bytes of a program: a server passes it as one argument, which has at most 128 KiB on Linux."""
NOT_COMPILED: Final = "it was not compiled, since another `select` exceeded a limit"


def select_errors(selects: Iterable[str], store: Store | None) -> dict[str, str]:
    """Return each invalid program of `selects` with its error; empty ones are ignored.

    `store` has the results of earlier runs.

    Without jq it is empty: a call reports the missing package.
    """
    programs = list(dict.fromkeys(filter(None, selects)))
    if not programs:
        return {}
    # Imported late: it imports the part of the runtime that starts programs.
    from toolmason_runtime.apis.select_check import is_installed

    if not is_installed():
        return {}
    errors = {program: _oversize(program) for program in programs}
    keys = {program: _key(program) for program in programs if not errors[program]}
    unknown = []
    for program, key in keys.items():
        stored = None if store is None else store.get(key)
        if stored is None:
            unknown.append(program)
        else:
            errors[program] = stored.removeprefix(_PREFIX)
    for program, (error, is_final) in _compile(unknown).items():
        errors[program] = error
        if store is not None and is_final:
            store[keys[program]] = _PREFIX + error
    return {program: error for program, error in errors.items() if error}


_END: Final = re.compile(r"unexpected (?:INVALID_CHARACTER|'\)')")
_PREFIX: Final = "error: "
"""The start of a stored result: the store ignores empty texts."""


def _compile(programs: list[str]) -> dict[str, tuple[str, bool]]:
    """Compile programs; return the error of each, and whether it is the same in each run."""
    from toolmason_runtime.apis.select_check import UnfinishedProgramError, compile_errors

    try:
        found = [(error, True) for error in compile_errors(programs)]
    except UnfinishedProgramError as error:
        found = [(text, True) for text in error.errors]
        found.append((str(error), False))
        found += [(NOT_COMPILED, False)] * (len(programs) - len(found))
    results = zip(programs, found, strict=True)
    return {program: (_reason(text, program), is_final) for program, (text, is_final) in results}


def _reason(text: str, program: str) -> str:
    """Return the first line of an error of jq, without the position in the brackets around the program."""
    if not text:
        return ""
    reason, _, position = text.splitlines()[0].removeprefix("jq: error: ").partition(" at <")
    if f" line {program.count(chr(10)) + 3}," in position:  # that of the closing bracket
        reason = _END.sub("unexpected end of file", reason)
    return reason


def _oversize(program: str) -> str:
    size = len(program.encode("utf-8", "replace"))
    return f"it has {size:,} bytes: at most {MAX_PROGRAM_BYTES:,} are allowed" if size > MAX_PROGRAM_BYTES else ""


def _key(program: str) -> str:
    return f"select {version('jq')} {sha256(program.encode('utf-8', 'replace')).hexdigest()}"
