"""The places of `toolmason publish`, from `places.toml`, and the state of a server for each of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from toolmason.publishing.artefacts import BUILDERS, Artefact, Release
from toolmason.publishing.checks import Subject, required_options
from toolmason.publishing.validation import schema_errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A registry, a directory or an index.

    Args:
        needs: The keys of [server] that the files require.
        upload: The commands and steps that publish the files.
        source: The page that describes them.
        arguments: The file with the arguments of the server that no user can add to. Empty if there is none, or if a
            rule of the profile checks it.
    """

    name: str
    title: str
    needs: tuple[str, ...]
    upload: tuple[str, ...]
    source: str
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The files of a place. `missing` are keys of [server]; `invalid` are errors of files."""

    place: Place
    artefacts: tuple[Artefact, ...] = ()
    missing: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()


@cache
def places() -> Mapping[str, Place]:
    """Return the places by their names."""
    data = tomllib.loads(Path(__file__).with_name("places.toml").read_text(encoding="utf-8"))
    return {
        name: Place(name=name, **{**row, "needs": tuple(row["needs"]), "upload": tuple(row["upload"])})
        for name, row in data.items()
    }


def prepare(place: Place, release: Release) -> Prepared:
    """Return the files of a place, validated against their schemas."""
    table = release.server.table
    if missing := tuple(key for key in place.needs if not getattr(table, key)):
        return Prepared(place=place, missing=missing)
    build = BUILDERS.get(place.name)
    artefacts = tuple(build(release)) if build else ()
    invalid = tuple(
        f"{artefact.path}: {error}"
        for artefact in artefacts
        if artefact.schema
        for error in schema_errors(artefact.schema, artefact.document)
    )
    problems = required_options(Subject(server=release.server, files=release.files)) if place.arguments else ()
    incomplete = tuple(f"{place.arguments}: {problem.message}" for problem in problems)
    return Prepared(place=place, artefacts=artefacts, invalid=invalid + incomplete)


def upload_steps(place: Place, directory: str, *, file: str) -> tuple[str, ...]:
    """Return the steps that publish the files in `directory`; `file` is the name of the bundle without its suffix."""
    return tuple(step.replace("{directory}", directory).replace("{file}", file) for step in place.upload)
