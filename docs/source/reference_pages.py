"""Write the references that are generated from code: the manifest's tables and the rule codes.

Run it with `python docs/source/reference_pages.py`. The tests compare the pages with what this module returns.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from schemas_page import anchor
from toolmason_runtime.shared.toml.tables import Table, all_keys_of, is_required

from toolmason.diagnostics.rules import RULES
from toolmason.diff.rules import Severity as ChangeSeverity
from toolmason.diff.rules import rules as change_rules
from toolmason.manifest.editor_schema import class_docstrings
from toolmason.manifest.tables import ManifestTables
from toolmason.manifest.validate import extensions
from toolmason.publishing.names import PROFILES
from toolmason.publishing.profiles import Profile, ProfileRule, load_profile

DOCS: Final = Path(__file__).parents[1]
_SCALARS: Final = {str: "string", bool: "boolean", int: "integer", float: "number", Any: "any value"}
_TITLES: Final = {"ManifestTables": "The manifest", "ParamTable": "Parameters", "ValueTable": "Fields"}
"""Headings of tables that are in several places."""
_GROUPS: Final = {
    "1": "Files that cannot be read",
    "2": "Keys and values",
    "3": "Names and references",
    "4": "Generated files",
    "5": "Lint",
    "6": "Drift",
}


# The manifest


def manifest_reference() -> str:
    """Return the page: one section per table, in the order in which the manifest refers to them."""
    tables = list(dict.fromkeys(_tables(ManifestTables)))
    docstrings: dict[str, str] = {}
    classes = [*tables, *(extension for added in extensions().values() for extension in added)]
    for module in {sys.modules[base.__module__] for table in classes for base in table.__mro__ if base is not object}:
        docstrings |= class_docstrings(inspect.getsource(module))
    titles = _titles(tables, docstrings)
    sections = [_table_section(table, docstrings, titles) for table in tables]
    contents = "\n".join(f"| {_link(titles[table])} | {_cell(_purpose(table, docstrings))} |" for table in tables)
    return (
        f"""\
# Manifest reference

Every table and key of a manifest. Editors complete and check them with the schema
`generated/schemas/manifest.schema.json`, and `toolmason check` reports a wrong key with its line and a hint. Required
keys are **bold**. The [tutorial](tutorial.md) explains the most common ones.

| table | purpose |
| --- | --- |
{contents}

{"".join(sections)}""".rstrip()
        + "\n"
    )


def _tables(table: type[Table]) -> Iterator[type[Table]]:
    """Yield a table, and the tables that its keys contain."""
    yield table
    for inner in _direct(table):
        yield from _tables(inner)


def _direct(table: type[Table]) -> Iterator[type[Table]]:
    for owner, field in all_keys_of(table, extensions().get(table, ())).values():
        yield from _classes(_read_as(field, get_type_hints(owner)))


def _classes(hint: Any) -> Iterator[type[Table]]:
    if isinstance(hint, type) and issubclass(hint, Table):
        yield hint
    for argument in get_args(hint):
        yield from _classes(argument)


def _titles(tables: Iterable[type[Table]], docstrings: Mapping[str, str]) -> dict[type[Table], str]:
    """Return the heading of each table: its first place in a manifest, or a name from `_TITLES`."""
    titles: dict[type[Table], str] = {}
    for table in tables:
        place = re.match(r"(`[^`]+`)", docstrings[table.__name__])
        title = _TITLES.get(table.__name__) or (place[1] if place else table.__name__)
        titles[table] = f"{title} ({table.__name__})" if title in titles.values() else title
    return titles


def _link(title: str) -> str:
    return f"[{title}](#{anchor(title)})"


def _purpose(table: type[Table], docstrings: Mapping[str, str]) -> str:
    """Return the first paragraph of the docstring of a table without its places."""
    text = docstrings[table.__name__].split("\n\n", maxsplit=1)[0].replace("\n", " ")
    text = text.partition(": ")[2] if text.startswith("`") else text
    return text[0].upper() + text[1:]


def _table_section(table: type[Table], docstrings: Mapping[str, str], titles: Mapping[type[Table], str]) -> str:
    rows = "".join(
        _key_row(
            name,
            field,
            _kind(_read_as(field, get_type_hints(owner)), titles),
            field.metadata.get("text") or _documentation(owner, field.name, docstrings),
        )
        for name, (owner, field) in all_keys_of(table, extensions().get(table, ())).items()
    )
    head = "| key | type | default | meaning |\n| --- | --- | --- | --- |\n"
    return f"## {titles[table]}\n\n{docstrings[table.__name__]}\n\n{head}{rows}\n"


def _read_as(field: dataclasses.Field[Any], hints: Mapping[str, Any]) -> Any:
    """Return the type of a key in TOML."""
    return field.metadata.get("source", hints[field.name])


def _documentation(table: type[Table], name: str, docstrings: Mapping[str, str]) -> str:
    """Return the docstring of a field, which a base class may have."""
    return next(text for base in table.__mro__ if (text := docstrings.get(f"{base.__name__}.{name}")))


def _key_row(name: str, field: dataclasses.Field[Any], kind: str, documentation: str) -> str:
    code = f"`{name}`"
    meaning = " ".join(documentation.split()) + "".join(_limits(field.metadata))
    return f"| {f'**{code}**' if is_required(field) else code} | {kind} | {_default(field)} | {_cell(meaning)} |\n"


def _kind(hint: Any, titles: Mapping[type[Table], str]) -> str:
    """Return the type of a key for people, with links to tables."""
    if isinstance(hint, type) and issubclass(hint, Table):
        return _link(titles[hint])
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(argument, titles) for argument in arguments if argument is not type(None))
    if origin is tuple:
        return f"array of {_kind(arguments[0], titles)}"
    return f"table of {_kind(arguments[1], titles)}"  # a Mapping: its keys are names


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default
    if is_required(field) or isinstance(value, Table) or value in (dataclasses.MISSING, None, "", ()):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{str(value).lower()}`"


def _limits(metadata: Mapping[str, Any]) -> Iterator[str]:
    if "max_length" in metadata:
        yield f" At most {metadata['max_length']:,} characters."
    if "minimum" in metadata:
        yield f" At least {metadata['minimum']}."
    if words := metadata.get("words", ""):
        yield f" Form: {words}."


# Rule codes


def rule_codes() -> str:
    """Return the page: an index by group, and the explanation of each code."""
    groups = {title: [rule for rule in RULES.values() if rule.code[2] == digit] for digit, title in _GROUPS.items()}
    indexes = "".join(
        f"## {title}\n\n| code | rule |\n| --- | --- |\n"
        + "".join(f"| [{rule.code}](#{rule.code.lower()}) | {_cell(rule.title)} |\n" for rule in rules)
        + "\n"
        for title, rules in groups.items()
    )
    texts = "".join(
        f"### {rule.code}\n\n**{rule.title}.** {rule.why}\n\n"
        f"Bad:\n\n```toml\n{rule.bad}\n```\n\nGood:\n\n```toml\n{rule.good}\n```\n\n"
        for rule in RULES.values()
    )
    return (
        f"""\
# Rule codes

Every finding of `toolmason check`, `generate` and `lint` has a code. `toolmason explain TM203` prints its explanation
in the terminal. To allow an exception from a lint rule, add it to the tool with a reason:
`allow = [{{ rule = "TM501", reason = "..." }}]`.

{indexes}## Explanations

{texts}""".rstrip()
        + "\n"
    )


def diff_rules() -> str:
    """Return the page: the rules of `toolmason diff` by severity."""
    tables = "".join(
        f"## {severity.capitalize()}\n\n| rule | change | reason | version |\n| --- | --- | --- | --- |\n"
        + "".join(
            f"| `{rule.name}` | {_cell(rule.title)} | {_cell(rule.why)} | {rule.bump} |\n"
            for rule in change_rules().values()
            if rule.severity is severity
        )
        + "\n"
        for severity in ChangeSeverity
    )
    return (
        f"""\
# Rules of changes

The rules of [`toolmason diff`](diff.md), and the part of the version that each change raises.

{tables}""".rstrip()
        + "\n"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def publishing_rules() -> str:
    """Return the page: the rules of each profile with their fixes and sources."""
    profiles = [load_profile(name) for name in PROFILES]
    sections = "".join(_profile_section(profile) for profile in profiles)
    return (
        f"""\
# Rules of registries and directories

`toolmason lint --profile NAME` checks these rules; `toolmason publish --dry-run` checks the rules of each place that it
[writes files for](publishing.md#registries-and-directories). The last column links to the source of the rule; its text
is the date on which the source was read.

| severity | meaning |
| --- | --- |
| error, warning | the place rejects the server, or its reviewers may reject it; `lint` exits with 1 |
| note | a recommendation |
| TM... | Toolmason checks this rule for every manifest, with [this code](rule-codes.md) |
| yourself | no program can check this rule: `lint` lists it after its findings |

{sections}""".rstrip()
        + "\n"
    )


def _profile_section(profile: Profile) -> str:
    rows = "".join(_profile_row(rule) for rule in profile.rules)
    head = "| rule | requirement | severity | fix | source, read on |\n| --- | --- | --- | --- | --- |\n"
    return f"## {profile.title}\n\n`--profile {profile.name}`\n\n{head}{rows}\n"


def _profile_row(rule: ProfileRule) -> str:
    cells = [f"`{rule.id}`", _cell(rule.requires), _rule_kind(rule), _cell(rule.fix), f"[{rule.read}]({rule.source})"]
    return f"| {' | '.join(cells)} |\n"


def _rule_kind(rule: ProfileRule) -> str:
    return "yourself" if rule.is_manual else rule.enforced_by or str(rule.severity)


PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    DOCS / "manifest-reference.md": manifest_reference,
    DOCS / "rule-codes.md": rule_codes,
    DOCS / "diff-rules.md": diff_rules,
    DOCS / "publishing-rules.md": publishing_rules,
}

if __name__ == "__main__":
    for path, render in PAGES.items():
        path.write_text(render(), encoding="utf-8", newline="\n")
