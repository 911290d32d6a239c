"""Read and check the committed `semantic.postings` of a project, without a model."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

from toolmason.diagnostics import Diagnostic, Diagnostics, Location
from toolmason.manifest.input_files import read_input
from toolmason.project import Project
from toolmason.semantic.postings_file import PostingsError, check_postings


def load_postings(project: Project, *, diagnostics: Diagnostics) -> str:
    """Return the content of the file; empty if there is none, or if it is invalid, which is an error (TM109)."""
    path = project.postings
    if not os.path.lexists(path):
        return ""
    line = 1
    try:
        text = read_input(path, project.root).decode().replace("\r\n", "\n")
        check_postings(text)
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except PostingsError as error:
        line, reason = error.line, str(error)
    except OSError as error:
        reason = str(error.strerror or error)
    else:
        return text
    diagnostics.add(
        Diagnostic(
            code="TM109",
            message=f"{path.name} is invalid: {reason}",
            location=Location(PurePosixPath(path.relative_to(project.root).as_posix()), line),
            hint="restore it from version control; or delete it and run: toolmason embed",
        )
    )
    return ""
