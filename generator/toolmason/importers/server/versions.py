"""Exact versions of the packages that an imported server was started from, found in the directory of its program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolmason.importers.server.address import Address
from toolmason.lint.packages import Package, packages
from toolmason.model.requirements import normal_name, parse_requirement

_MAX_FILES: Final = 2_000
_VERSION: Final = re.compile(r"v?\d[0-9A-Za-z.!+-]*")


def with_exact_versions(address: Address, home: Path) -> Address:
    """Return an address whose packages have the versions that the package runner has stored in `home`."""
    words = list(address.command)
    for package in packages(address.command):
        versions = {*_versions(package, home)} if not package.is_exact else set()
        if len(versions) == 1:
            word = words[package.index]
            words[package.index] = word.removesuffix(package.spec) + package.with_version(versions.pop())
    return replace(address, command=tuple(words))


def unpinned(address: Address) -> list[Package]:
    """Return the packages of a command line without an exact version."""
    return [package for package in packages(address.command) if not package.is_exact]


def _versions(package: Package, home: Path) -> Iterator[str]:
    """Yield the versions of a package in the caches of npm and uv; none for another kind, or a repository."""
    name = package.plain_name
    if package.kind == "npm" and re.fullmatch(r"(?:@[\w.-]+/)?[\w.-]+", name):
        for file in _first(home, f".npm/_npx/*/node_modules/{name}/package.json"):
            try:
                version = json.loads(file.read_text(encoding="utf-8")).get("version")
            except (OSError, ValueError, AttributeError):
                continue
            if isinstance(version, str) and _VERSION.fullmatch(version):
                yield version
    elif package.kind == "python" and parse_requirement(name):
        plain = normal_name(name)
        for directory in _first(home, ".cache/uv/archive-v*/*/lib/python*/site-packages/*.dist-info"):
            found, _, version = directory.name.removesuffix(".dist-info").rpartition("-")
            if normal_name(found) == plain and _VERSION.fullmatch(version):
                yield version


def _first(home: Path, pattern: str) -> Iterator[Path]:
    for index, path in enumerate(home.glob(pattern)):
        if index >= _MAX_FILES:
            return
        yield path
