"""Describe errors in a project's own templates in one line. Errors in packaged templates are bugs: tracebacks."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from jinja2 import Environment, TemplateError, TemplateNotFound, TemplateSyntaxError

from toolmason.project import Project
from toolmason.render.environment import PACKAGED_PREFIX

_EXTENDS = re.compile(r"""\{%[-+]?\s*extends\s+["']([^"']+)["']""")
"""For example `{% extends "docs/tool.md.jinja" %}`."""


def describe_override_error(error: Exception, project: Project) -> str | None:
    """Return the file, the line and the reason of an error in a template of `project`, else None.

    The error is in a template of the project if one was being read, compiled or rendered when it was raised.
    """
    if isinstance(error, OSError) and error.filename and _is_own(str(error.filename), project):
        return f"{_relative(Path(str(error.filename)), project)}: {error.strerror}"
    if isinstance(error, TemplateSyntaxError) and error.filename and _is_own(error.filename, project):
        return f"{_relative(Path(error.filename), project)}:{error.lineno}: {_one_line(error.message or '')}"
    if filename := _find_compiled_template(error, project):
        return f"{_relative(Path(filename), project)}: {_format_error(error)}"
    # The last frame may be in a packaged template that one of the project extends.
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename, project)]
    if not own:
        return None
    path = Path(own[-1].filename)
    return f"{_relative(path, project)}:{own[-1].lineno}: {_reason(error, path, project)}"


def _reason(error: Exception, template: Path, project: Project) -> str:
    if isinstance(error, RecursionError):
        name = template.relative_to(project.template_directory).as_posix()
        if name in _EXTENDS.findall(template.read_text(encoding="utf-8")):
            return f'it extends itself; to extend the packaged template: {{% extends "{PACKAGED_PREFIX}/{name}" %}}'
        return "it includes itself"
    if isinstance(error, TemplateNotFound):
        return f"unknown template `{error.name}`" if error.name else _one_line(error.message or "")
    if isinstance(error, TemplateError):
        return _one_line(error.message or "")
    return _format_error(error)


def _format_error(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return _one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _find_compiled_template(error: Exception, project: Project) -> str | None:
    """Return the template of `project` that Jinja failed to compile, if it did not report the template itself."""
    for frame, _line in traceback.walk_tb(error.__traceback__):
        filename = frame.f_locals.get("filename") if frame.f_code is Environment.compile.__code__ else None
        if filename and _is_own(filename, project):
            return str(filename)
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_own(filename: str, project: Project) -> bool:
    return Path(filename).is_relative_to(project.template_directory)


def _relative(path: Path, project: Project) -> str:
    return path.relative_to(project.root).as_posix()
