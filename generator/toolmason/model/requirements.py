"""Requirements of Python distributions, as in pyproject.toml, in metadata and after `uvx`."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name


def parse_requirement(text: str) -> Requirement | None:
    """Return a requirement, or None for invalid text: `toolmason[http]>=0.1; python_version > "3.11"`."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def normal_name(name: str) -> str:
    """Return the normalized name of a distribution or an extra: `Foo._bar` becomes `foo-bar`."""
    return canonicalize_name(name)


def normal_extras(requirement: Requirement) -> frozenset[str]:
    """Return the normalized names of the extras that a requirement selects."""
    return frozenset(map(normal_name, requirement.extras))


def is_required_by(requirement: Requirement, extra: str) -> bool:
    """Return whether an extra of a distribution needs one of its requirements, on any system.

    The empty `extra` has the requirements that belong to no extra.
    """
    marker = str(requirement.marker or "")  # with normalized extras, in double quotes
    if not extra:
        return "extra ==" not in marker and "== extra" not in marker
    name = f'"{normal_name(extra)}"'
    return f"extra == {name}" in marker or f"{name} == extra" in marker


def with_extras(text: str, extras: frozenset[str]) -> str:
    """Return a valid requirement with these extras instead of its own. Everything else remains as written."""
    name = Requirement(text).name
    before, _, rest = text.partition(name)
    if rest.lstrip().startswith("["):
        rest = rest.partition("]")[2]
    return f"{before}{name}[{','.join(sorted(extras))}]{rest}"
