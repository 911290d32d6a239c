"""Render a project's own templates in a separate process, since the project may be a stranger's.

Jinja's sandbox restricts the objects that a template can reach, but not its time and memory. The process has limits for
both, and is ended when it exceeds one. On Windows, which has no such limits, the parent enforces the time limit.
"""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from toolwright.model import Server
from toolwright.project import Project
from toolwright.render import TemplateRefused, drafts

_MIB: Final = 1024 * 1024


class TemplateError(Exception):
    """A template of the project is invalid. The message has its name and line."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum seconds and bytes of memory for rendering."""

    time_s: float
    memory_bytes: int


def default_limits(server: Server) -> Limits:
    """Return limits of about ten times the needs of the packaged templates for `server`."""
    tools = len(server.tools)
    return Limits(time_s=30 + 0.1 * tools, memory_bytes=1024 * _MIB + tools * _MIB // 4)


def confined_drafts(
    project: Project,
    server: Server,
    *,
    previous: Mapping[PurePosixPath, str],
    part: str | None,
    limits: Limits | None = None,
) -> dict[PurePosixPath, str]:
    """Return `render.drafts` with the templates of `project`, rendered under `limits`.

    Raises:
        TemplateError: a template is invalid.
        TemplateRefused: a template cannot be read safely, or a limit was exceeded.
        SyntaxError: a rendered file is not JSON; the message has its path and the position.
    """
    bounds = limits or default_limits(server)
    # `-P` keeps the working directory, often the project, off the import path.
    command = [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as m; m.main()"]
    request = pickle.dumps((project, server, dict(previous), part, bounds))
    with subprocess.Popen(  # noqa: S603 - our own interpreter and code
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        is_late = False
        try:
            output, errors = process.communicate(request, timeout=bounds.time_s)
        except subprocess.TimeoutExpired:
            is_late = True
            process.kill()
            output, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
    lines = list(_answers(output))
    last = lines[-1] if lines else {}
    current_template = next((line["template"] for line in reversed(lines) if "template" in line), "")
    if is_late or process.returncode == -getattr(signal, "SIGXCPU", 0):
        raise _exceeded(project, current_template, f"it takes more than {bounds.time_s:g} s")
    if "memory" in last:
        raise _exceeded(project, current_template, f"it takes more than {bounds.memory_bytes // _MIB:,} MiB of memory")
    if process.returncode < 0:
        raise _exceeded(project, current_template, f"its process was ended by signal {-process.returncode}")
    return _drafts_of(last, errors)


def _answers(output: bytes) -> Iterator[dict[str, Any]]:
    """Parse the output of the process; the last line may be incomplete."""
    for line in output.splitlines():
        with suppress(ValueError):
            yield json.loads(line)


def _drafts_of(answer: Mapping[str, Any], errors: bytes) -> dict[PurePosixPath, str]:
    match answer:
        case {"drafts": dict(texts)}:
            return {PurePosixPath(path): text for path, text in texts.items()}
        case {"mistake": str(text)}:
            raise TemplateError(text)
        case {"refused": [str(path), str(reason)]}:
            raise TemplateRefused("TW608", PurePosixPath(path), reason)
        case {"syntax": str(text)}:
            raise SyntaxError(text)
    raise RuntimeError(f"rendering failed:\n{errors.decode('utf-8', 'replace')}")


def _exceeded(project: Project, template: str, reason: str) -> TemplateRefused:
    shown = PurePosixPath(project.override_folder.name, template)
    return TemplateRefused("TW609", shown, f"rendering was stopped: {reason}")


def main() -> None:
    """Render the request of `confined_drafts` on stdin; print one JSON line per file, then the result."""
    project, server, previous, part, limits = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent
    _apply(limits)
    try:
        texts = drafts(server, templates=project.templates, previous=previous, part=part, begin=_begin)
        _answer({"drafts": {path.as_posix(): text for path, text in texts.items()}})
    except MemoryError:
        _answer({"memory": True})
    except TemplateRefused as error:
        _answer({"refused": [error.path.as_posix(), error.reason]})
    except Exception as error:  # noqa: BLE001 - whatever a template can raise
        _answer_mistake(error, project)


def _begin(template: str) -> None:
    _answer({"template": template})


def _answer_mistake(error: Exception, project: Project) -> None:
    from toolwright.cli.override_mistake import override_mistake

    if (mistake := override_mistake(error, project)) is not None:
        _answer({"mistake": mistake})
    elif isinstance(error, SyntaxError):
        _answer({"syntax": str(error)})
    else:
        traceback.print_exception(error)
        sys.exit(1)


def _answer(line: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _apply(limits: Limits) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    seconds = int(limits.time_s) + 1
    for kind, bound in ((resource.RLIMIT_DATA, limits.memory_bytes), (resource.RLIMIT_CPU, seconds)):
        # macOS rejects a memory limit; the user's own limit may be lower already.
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (bound, bound if kind == resource.RLIMIT_DATA else bound + 1))
