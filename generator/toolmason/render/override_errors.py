"""Tell a mistake in a project's own template from one of ours, and say it in one line."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from jinja2 import Environment, TemplateError, TemplateNotFound, TemplateSyntaxError

from toolmason.project import Project
from toolmason.render.environment import PACKAGED_PREFIX

_EXTENDS = re.compile(r"""\{%[-+]?\s*extends\s+["']([^"']+)["']""")


def override_mistake(error: Exception, project: Project) -> str | None:
    """Say what is wrong in which line of a template of `project`; None if the mistake is not its author's.

    It is the author's if it stands in a template of theirs, or came up while one of theirs was rendered.
    """
    if isinstance(error, OSError) and error.filename and _is_own(str(error.filename), project):
        return f"{_shown(Path(str(error.filename)), project)}: {error.strerror}"
    if isinstance(error, TemplateSyntaxError) and error.filename and _is_own(error.filename, project):
        return f"{_shown(Path(error.filename), project)}:{error.lineno}: {_one_line(error.message or '')}"
    if filename := _compiled(error, project):
        return f"{_shown(Path(filename), project)}: {_named(error)}"
    # The last place may be in a template of ours that one of theirs extends.
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename, project)]
    if not own:
        return None
    path = Path(own[-1].filename)
    return f"{_shown(path, project)}:{own[-1].lineno}: {_said(error, path, project)}"


def _said(error: Exception, template: Path, project: Project) -> str:
    if isinstance(error, RecursionError):
        name = template.relative_to(project.override_folder).as_posix()
        if name in _EXTENDS.findall(template.read_text(encoding="utf-8")):
            return f'it extends itself; to extend ours: {{% extends "{PACKAGED_PREFIX}/{name}" %}}'
        return "it leads back to itself"
    if isinstance(error, TemplateNotFound):
        return f"there is no template `{error.name}`" if error.name else _one_line(error.message or "")
    if isinstance(error, TemplateError):
        return _one_line(error.message or "")
    return _named(error)


def _named(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return _one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _compiled(error: Exception, project: Project) -> str | None:
    """Name the template that could not be turned into Python, for a reason that jinja does not foresee."""
    for frame, _line in traceback.walk_tb(error.__traceback__):
        filename = frame.f_locals.get("filename") if frame.f_code is Environment.compile.__code__ else None
        if filename and _is_own(filename, project):
            return str(filename)
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_own(filename: str, project: Project) -> bool:
    return Path(filename).is_relative_to(project.override_folder)


def _shown(path: Path, project: Project) -> str:
    return path.relative_to(project.root).as_posix()
