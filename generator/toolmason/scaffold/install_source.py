"""The requirements with which a new project installs this toolkit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Any, Final


def requirement(extra: str = "") -> str:
    """Return the requirement (PEP 508) that a published project has: any release of this minor version.

    `toolmason[toolkit]>=0.1,<0.2`, for example: a generated server works with the runtime of the minor version that
    generated it.
    """
    name = f"toolmason[{extra}]" if extra else "toolmason"
    major, minor = _minor_version()
    return f"{name}>={major}.{minor},<{major}.{minor + 1}"


DISTRIBUTIONS: Final = ("toolmason", "toolmason-toolkit")
"""A release has both. A checkout is installed as the first one alone."""


def local_requirements() -> list[str]:
    """Return the requirements that install this toolkit from its checkout, wheels or repository; none for an index.

    They belong to the development environment only: other machines do not have that path, and an index does not accept
    a package that requires it.
    """
    return [f"{name} @ {_address(recorded)}" for name in DISTRIBUTIONS if (recorded := _origin(name))]


def _origin(name: str) -> Mapping[str, Any]:
    """Return where a distribution was installed from (PEP 610); empty for an index."""
    try:
        recorded = distribution(name).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    origin: Mapping[str, Any] = json.loads(recorded or "{}")
    return origin


def _minor_version() -> tuple[int, int]:
    try:
        major, minor, *_ = version("toolmason").split(".")
    except PackageNotFoundError:  # imported from a source tree that is not installed
        return 0, 1
    return int(major), int(minor)


def _address(recorded: Mapping[str, Any]) -> str:
    url = str(recorded["url"])
    repository = recorded.get("vcs_info")
    return f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url
