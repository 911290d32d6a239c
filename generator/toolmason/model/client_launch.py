"""Command line and environment that client files use to start a server."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from toolmason.manifest.input_files import read_input

PYPROJECT: Final = "pyproject.toml"

_WITHHELD: Final = re.compile("TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT")
_WITHHELD_NAMES: Final = frozenset(
    {
        "AWS_DEFAULT_REGION",
        "AZURE_CLIENT_ID",
        "AZURE_TENANT_ID",
        "CLIENT_ID",
        "CONNECTION_STRING",
        "DATABASE_URL",
        "DB_URI",
        "FIREBASE_PROJECT_ID",
        "GOOGLE_CLOUD_ACCOUNT",
        "GOOGLE_CLOUD_PROJECT",
        "SLACK_WEBHOOK_URL",
        "TWILIO_ACCOUNT_SID",
    }
)
_PASSED: Final = ("GEMINI_CLI_", "GIT_CONFIG_")


class PyprojectError(Exception):
    """The project's `pyproject.toml` cannot be read."""


def declared_scripts(root: Path) -> frozenset[str]:
    """Return the names in `[project.scripts]` of the project at `root`; none if it has no `pyproject.toml`.

    Raises:
        PyprojectError: it cannot be read, is not UTF-8 or not TOML.
    """
    try:
        content: dict[str, Any] = tomllib.loads(read_input(root / PYPROJECT, root).decode("utf-8"))
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise PyprojectError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise PyprojectError(f"not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise PyprojectError(str(error)) from error
    project = content.get("project")
    scripts = project.get("scripts") if isinstance(project, dict) else None
    return frozenset(scripts) if isinstance(scripts, dict) else frozenset()


def is_withheld_by_gemini_cli(variable: str) -> bool:
    """Whether Gemini CLI keeps an environment variable from servers unless their `env` names it.

    Taken from `sanitizeEnvironment` of Gemini CLI 0.61.0.
    """
    name = variable.upper()
    return not name.startswith(_PASSED) and (name in _WITHHELD_NAMES or bool(_WITHHELD.search(name)))
