"""Render a project's own templates in a separate process, since the project may be a stranger's.

Jinja's sandbox restricts the objects that a template can reach, but not its time and memory, and its output can keep a
formatter or a parser busy too. The process renders, formats and parses under limits for both, and is ended if it
exceeds one. On Windows, which has no such limits, the parent enforces the time limit.
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

from toolmason.model.rendered_file import RenderedFile
from toolmason.model.server import Server
from toolmason.project import Project
from toolmason.render.child_process import child_command
from toolmason.render.environment import TemplateRefusedError
from toolmason.render.renderer import drafts, finish
from toolmason.render.self_check import SelfCheckError, self_check, unchanged
from toolmason.schema.projections import Projections

_MIB: Final = 1024 * 1024


class TemplateError(Exception):
    """A template of the project is invalid. The message has its name and line."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum seconds and bytes of memory for rendering, and maximum bytes of all output."""

    time_s: float
    memory_bytes: int
    output_bytes: int = 16 * _MIB


def default_limits(server: Server) -> Limits:
    """Return limits of about ten times the needs of the packaged templates for `server`."""
    tools = len(server.tools)
    return Limits(
        time_s=30 + 0.1 * tools,
        memory_bytes=1024 * _MIB + tools * _MIB // 4,
        output_bytes=16 * _MIB + tools * _MIB // 8,
    )


def confined_render(
    project: Project,
    server: Server,
    *,
    models: Mapping[str, str],
    part: str | None,
    projections: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> tuple[RenderedFile, ...]:
    """Return the same as `render.render` with the templates of `project`, rendered and checked under `limits`.

    `projections` are texts of `Projections.texts`; the process converts the other schemas.

    Raises:
        TemplateError: a template is invalid.
        TemplateRefusedError: a template cannot be read safely, or a limit was exceeded.
        SyntaxError: a file is invalid Python or JSON; the message has the file and the position.
        SelfCheckError: a file does not parse.
    """
    bounds = limits or default_limits(server)
    request = pickle.dumps((project, server, dict(models), dict(projections or {}), part, bounds))
    with subprocess.Popen(  # noqa: S603 - our own interpreter and code
        child_command(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
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
    lines = list(_parse_lines(output))
    result = lines[-1] if lines else {}
    current_template = next((line["template"] for line in reversed(lines) if "template" in line), "")
    if is_late or process.returncode == -getattr(signal, "SIGXCPU", 0):
        raise _exceeded(project, current_template, f"it takes more than {bounds.time_s:g} s")
    if "memory" in result:
        raise _exceeded(project, current_template, f"it takes more than {bounds.memory_bytes // _MIB:,} MiB of memory")
    if process.returncode < 0:
        raise _exceeded(project, current_template, f"its process was ended by signal {-process.returncode}")
    return _files(result, errors)


def _parse_lines(output: bytes) -> Iterator[dict[str, Any]]:
    """Parse the output of the process; the last line may be incomplete."""
    for line in output.splitlines():
        with suppress(ValueError):
            yield json.loads(line)


def _files(result: Mapping[str, Any], errors: bytes) -> tuple[RenderedFile, ...]:
    match result:
        case {"files": dict(texts)}:
            return tuple(RenderedFile(PurePosixPath(path), text) for path, text in texts.items())
        case {"faults": list(faults)}:
            raise SelfCheckError(faults)
        case {"template_error": str(text)}:
            raise TemplateError(text)
        case {"refused": [str(code), str(path), str(reason)]}:
            raise TemplateRefusedError(code, PurePosixPath(path), reason)
        case {"syntax": str(text)}:
            raise SyntaxError(text)
    raise RuntimeError(f"rendering failed:\n{errors.decode('utf-8', 'replace')}")


def _exceeded(project: Project, template: str, reason: str) -> TemplateRefusedError:
    directory = project.template_directory
    # If a packaged template was being rendered, the template of the project that it includes is unknown.
    path = PurePosixPath(directory.name, template if (directory / template).exists() else "")
    return TemplateRefusedError("TM609", path, f"rendering was stopped: {reason}")


def main() -> None:
    """Process one request of `confined_render` on stdin. Print a JSON line before each file and one with the result."""
    project, server, models, projections, part, limits = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent
    _set_limits(limits)
    try:
        texts = drafts(
            server,
            templates=project.templates,
            models=models,
            projections=Projections(projections),
            part=part,
            begin=_begin,
            max_bytes=limits.output_bytes,
        )
        _begin("")
        # A third of the time, which leaves enough to find the file that cannot be formatted.
        files = finish(texts, timeout_s=limits.time_s / 3)
        self_check(server, files, previous=unchanged(files, project.generated))
        _send({"files": {file.path.as_posix(): file.text for file in files}})
    except MemoryError:
        _send({"memory": True})
    except TemplateRefusedError as error:
        _send({"refused": [error.code, error.path.as_posix(), error.reason]})
    except SelfCheckError as error:
        _send({"faults": error.faults})
    except Exception as error:  # noqa: BLE001 - a template can raise anything
        _send_error(error, project)


def _begin(template: str) -> None:
    _send({"template": template})


def _send_error(error: Exception, project: Project) -> None:
    from toolmason.render.override_errors import describe_override_error

    if (text := describe_override_error(error, project)) is not None:
        _send({"template_error": text})
    elif isinstance(error, SyntaxError):
        _send({"syntax": str(error)})
    else:
        traceback.print_exception(error)
        sys.exit(1)


def _send(line: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _set_limits(limits: Limits) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    seconds = int(limits.time_s) + 1
    for kind, bound in ((resource.RLIMIT_DATA, limits.memory_bytes), (resource.RLIMIT_CPU, seconds)):
        # macOS rejects a memory limit, and the user's own limit may be lower already.
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (bound, bound if kind == resource.RLIMIT_DATA else bound + 1))
