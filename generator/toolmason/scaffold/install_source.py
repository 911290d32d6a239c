"""Where this toolkit was installed from, so that a new project can depend on the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any


def requirement(extra: str = "") -> str:
    """Give the requirement (PEP 508) that installs this toolkit again, with one of its extras.

    It names the release where the toolkit came from an index, and the address where it came from a folder, a file
    or a repository, which pip notes (PEP 610): an index may not have that version at all.
    """
    name = f"toolmason[{extra}]" if extra else "toolmason"
    address = direct_address()
    return f"{name} @ {address}" if address else f"{name}>=0.1"


def direct_address() -> str:
    """Give the address this toolkit was installed from, or nothing if that was an index."""
    try:
        noted = distribution("toolmason").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    return _address(json.loads(noted)) if noted else ""


def _address(noted: Mapping[str, Any]) -> str:
    url = str(noted["url"])
    repository = noted.get("vcs_info")
    return f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url
