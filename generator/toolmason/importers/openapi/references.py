"""One document from several files: each reference is replaced by its target, and each schema becomes a component.

Libraries such as `referencing` find the value of a reference, but not its place in a file, which messages need.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi.files import File, Files, RefusedError, joined
from toolmason.importers.openapi.parts import MERGED, PARTS, Form
from toolmason.importers.openapi.positions import Path_, positions

MAX_SHOWN: Final = 20
"""Maximum number of mistakes in one message."""
MAX_HOPS: Final = 50
"""Maximum number of references on the way of one pointer."""
_EXAMPLES: Final = frozenset({"example", "examples", "enum", "const", "default"})
_NO_NAME: Final = re.compile(r"[^\w.-]")
_SECTIONS: Final = {False: ("components", "schemas"), True: ("definitions",)}
"""Where schemas are, by whether the document is Swagger 2.0."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A value and its place. `base` is the URI that references inside are relative to."""

    file: File
    path: Path_
    base: str
    value: Any

    def inner(self, name: str | int, value: Any) -> _Part:
        return _Part(self.file, (*self.path, name), self.base, value)


@dataclass(slots=True)
class Bundle:
    """A document whose references lead to its own schemas only. The values of its files stay as they are.

    Only `$ref` of schemas is replaced in place: there are too many to copy all schemas.
    """

    files: Files
    data: dict[str, Any] = field(default_factory=dict)
    mistakes: list[tuple[File, Path_, str]] = field(default_factory=list)
    """References without a target: file, path and message."""
    places: dict[int, tuple[File, Path_]] = field(default_factory=dict)
    """The places of operations by the identity of their tables in `data`."""
    root: File = field(init=False)
    is_swagger: bool = field(init=False)
    _section: tuple[str, ...] = field(init=False)
    _names: dict[tuple[str, Path_], str] = field(default_factory=dict)
    """Names of the components that schemas of other places became."""
    _done: dict[tuple[int, str], Any] = field(default_factory=dict)
    _visited: set[int] = field(default_factory=set)
    _schemas: deque[_Part] = field(default_factory=deque)
    _original: dict[int, str] = field(default_factory=dict)
    """References of schemas, as written, by the identity of the schema."""
    _targets: dict[tuple[str, str, str], _Part | None] = field(default_factory=dict)
    _identified: dict[str, _Part] = field(default_factory=dict)
    """Schemas with `$id`, `$anchor` or `$dynamicAnchor`, and documents with `$self`, by their URI."""
    _indexed: set[File] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.root = self.files.root()
        if not isinstance(self.root.data, dict):
            kind = type(self.root.data).__name__
            raise ImporterError(f"{self.root.name}: an OpenAPI document is an object, not {kind}")
        self.data = dict(self.root.data)
        self.is_swagger = "swagger" in self.data and "openapi" not in self.data
        self._section = _SECTIONS[self.is_swagger]

    def resolve(self) -> None:
        """Replace the references of all parts that an import reads."""
        self._add_sections()
        self._add_members(_Part(self.root, (), self.root.uri, self.root.data), "document", self.data)
        while self._schemas:
            self._visit(self._schemas.popleft())

    def positions(self, places: Iterable[tuple[File, Path_]]) -> dict[tuple[File, Path_], str]:
        """Return `file:line:column` for places in files."""
        by_file: dict[File, set[Path_]] = {}
        for file, path in places:
            by_file.setdefault(file, set()).add(path)
        return {
            (file, path): f"{file.name}:{place.line}:{place.column}"
            for file, paths in by_file.items()
            for path, place in positions(file.text, paths).items()
        }

    def messages(self) -> list[str]:
        """Return the mistakes, each with file, line and column."""
        shown = self.mistakes[:MAX_SHOWN]
        where = self.positions((file, path) for file, path, _ in shown)
        lines = list(dict.fromkeys(f"{where[file, path]}: {message}" for file, path, message in shown))
        more = len(self.mistakes) - len(shown)
        return [*lines, f"and {more} more"] if more else lines

    def _add_sections(self) -> None:
        """Replace references in place of the sections of components, and give schemas in own files their names."""
        part = _Part(self.root, (), self.root.uri, self.root.data)
        outer = self.data
        names = ("components", "schemas") if self._section[0] == "components" else self._section
        for name in names:
            value = part.value.get(name)
            chain = self._chain(part.inner(name, value)) if value is not None else None
            part = chain[-1] if chain else part.inner(name, {})
            if not isinstance(part.value, dict):
                part = part.inner(name, {})
            outer[name] = dict(part.value)
            outer = outer[name]
            if name == "components" and "securitySchemes" in outer:
                outer["securitySchemes"] = self._map(
                    part.inner("securitySchemes", part.value["securitySchemes"]), "plain"
                )
        for name, schema in part.value.items():
            self._add_component(str(name), part.inner(name, schema), outer)

    def _add_component(self, name: str, part: _Part, schemas: dict[str, Any]) -> None:
        """Name a schema after its component, if it is in another file. One that nothing uses may be unfinished."""
        count = len(self.mistakes)
        is_reference = isinstance(part.value, Mapping) and part.value.keys() == {"$ref"}
        chain = self._chain(part) if is_reference else [part]
        del self.mistakes[count:]
        self._targets = {key: target for key, target in self._targets.items() if target}
        if chain and chain[-1].file is not self.root:
            schemas[name] = chain[-1].value
            for link in chain:
                if link.file is not self.root:
                    self._names.setdefault((link.file.uri, link.path), name)
            if self._names[chain[-1].file.uri, chain[-1].path] != name:
                schemas[name] = part.value  # the same schema again: a reference to its first name
                part.value["$ref"] = f"#/{'/'.join(self._section)}/{self._names[chain[-1].file.uri, chain[-1].path]}"

    def _add_members(self, part: _Part, kind: str, result: dict[str, Any]) -> None:
        """Set the members of an object with their references replaced."""
        for name, (form, inner) in PARTS[kind].items():
            if name in part.value:
                child = part.inner(name, part.value[name])
                match form:
                    case Form.ONE:
                        result[name] = self._one(child, inner)
                    case Form.LIST:
                        result[name] = self._list(child, inner)
                    case Form.MAP:
                        result[name] = self._map(child, inner)

    def _one(self, part: _Part, kind: str) -> Any:
        """Return the value of a part, or of its target, with the references inside replaced."""
        if kind == "schema":
            self._schemas.append(part)
            return part.value
        chain = self._chain(part)
        if chain is None:
            return {"$ref": _broken(part)}
        result = self._object(chain[-1], kind)
        for outer in reversed(chain[:-1]):
            siblings = {name: value for name, value in outer.value.items() if name != "$ref"}
            if kind in MERGED and siblings and isinstance(result, dict):
                own = _Part(outer.file, outer.path, outer.base, siblings)
                place = self.places.get(id(result))
                result = {**result, **siblings}
                self._add_members(own, kind, result)
                self._done[id(result), "merged"] = result  # keeps the identity unique
                if place:
                    self.places[id(result)] = place
        return result

    def _object(self, part: _Part, kind: str) -> Any:
        if not isinstance(part.value, dict):
            return part.value
        key = id(part.value), kind
        if key not in self._done:
            self._done[key] = result = dict(part.value)
            self._add_members(part, kind, result)
            if kind == "operation":
                self.places[id(result)] = part.file, part.path
        return self._done[key]

    def _list(self, part: _Part, kind: str) -> Any:
        chain = self._chain(part)
        if chain is None:
            return [{"$ref": _broken(part)}]
        found = chain[-1]
        if not isinstance(found.value, list):
            return found.value
        result: list[Any] = []
        for index, value in enumerate(found.value):
            one = self._one(found.inner(index, value), kind)
            result += one if isinstance(one, list) else [one]
        return result

    def _map(self, part: _Part, kind: str) -> Any:
        chain = self._chain(part)
        if chain is None:
            return {"$ref": {"$ref": _broken(part)}}
        if not isinstance(chain[-1].value, dict):
            return chain[-1].value
        return {
            name: self._one(link.inner(name, value), kind)
            for link in reversed(chain)
            for name, value in link.value.items()
            if name != "$ref" or not isinstance(value, str)
        }

    def _visit(self, part: _Part) -> None:
        """Replace the reference of a schema, and add its inner schemas to those to visit."""
        node = part.value
        if not isinstance(node, dict) or id(node) in self._visited:
            return
        self._visited.add(id(node))
        if isinstance(node.get("$id"), str):
            part = _Part(part.file, part.path, _base(part), node)
        if isinstance(node.get("$ref"), str):
            target = self._target(node["$ref"], part)
            self._original[id(node)] = node["$ref"]
            node["$ref"] = _broken(part) if target is None else self._component(target)
        for name, (form, _) in PARTS["schema"].items():
            value = node.get(name)
            if not isinstance(value, dict | list):
                continue
            found = part.inner(name, value)
            if form is not Form.ONE and isinstance(value, dict) and isinstance(value.get("$ref"), str):
                chain = self._chain(found)
                if not chain or not isinstance(chain[-1].value, dict | list):
                    continue
                found = chain[-1]
                node[name] = found.value
            if form is Form.MAP and isinstance(found.value, dict):
                self._schemas.extend(found.inner(key, inner) for key, inner in found.value.items())
            elif isinstance(found.value, list):
                self._schemas.extend(found.inner(index, inner) for index, inner in enumerate(found.value))
            elif form is Form.ONE:
                self._schemas.append(found)

    def _component(self, part: _Part) -> str:
        """Return a reference to a schema, which becomes a component if it is in another file."""
        self._schemas.append(part)
        is_kept = not self.is_swagger or (part.path[:1] == self._section and len(part.path) == 2)
        if part.file is self.root and is_kept:
            return "#" + "".join(f"/{_escaped(name)}" for name in part.path)
        key = part.file.uri, part.path
        if key not in self._names:
            schemas: dict[str, Any] = self.data
            for section in self._section:
                schemas = schemas[section]
            stem = PurePosixPath(unquote(urlsplit(part.file.uri).path)).name.partition(".")[0]
            wanted = _NO_NAME.sub("_", str(part.path[-1]) if part.path else stem) or "schema"
            if wanted in schemas:
                wanted = f"{_NO_NAME.sub('_', stem)}_{wanted}"
            free = (wanted, *(f"{wanted}_{number}" for number in range(2, len(schemas) + 3)))
            self._names[key] = next(name for name in free if name not in schemas)
            schemas[self._names[key]] = part.value
        return f"#/{'/'.join(self._section)}/{_escaped(self._names[key])}"

    def _chain(self, part: _Part) -> list[_Part] | None:
        """Return a part and the parts that its references lead to; None if one has no target."""
        chain, seen = [part], set[tuple[str, Path_]]()
        while isinstance(chain[-1].value, Mapping) and isinstance(chain[-1].value.get("$ref"), str):
            last = chain[-1]
            reference = self._written(last.value)
            target = self._target(reference, last)
            if target is None:
                return None
            if (target.file.uri, target.path) in seen:
                self._add_mistake(last, reference, "it refers to itself")
                return None
            seen.add((target.file.uri, target.path))
            chain.append(target)
        return chain

    def _written(self, schema: Mapping[str, Any]) -> str:
        """Return the reference of a part as it is in its file."""
        return self._original.get(id(schema), str(schema["$ref"]))

    def _target(self, reference: str, part: _Part) -> _Part | None:
        """Return the part that a reference names; None, with a mistake, if there is none.

        Documents often have an `$id` that is not where they are: then the place of the file counts.
        """
        key = part.base, part.file.uri, reference
        problem = ""
        if self._targets.get(key) is None:
            self._targets[key] = None
            for base in dict.fromkeys((part.base, part.file.uri)):
                try:
                    self._targets[key] = self._locate(joined(base, reference), 0)
                    break
                except RefusedError as error:
                    problem = problem or str(error)
        if self._targets[key] is None:
            self._add_mistake(part, reference, problem)
        return self._targets[key]

    def _add_mistake(self, part: _Part, reference: str, problem: str) -> None:
        message = f"the reference `{reference}` cannot be resolved: {problem}"
        self.mistakes.append((part.file, (*part.path, "$ref"), message))

    def _locate(self, uri: str, hops: int) -> _Part:
        """Return the part with an absolute URI.

        Raises:
            RefusedError: there is none.
        """
        address, _, fragment = uri.partition("#")
        if address == self.root.uri and self.root not in self._indexed:
            self._index(self.root)
        whole = self._identified.get(address)
        if whole is None:
            file = self.files.file(address)
            self._index(file)
            whole = _Part(file, (), file.uri, file.data)
        if not fragment:
            return whole
        if not fragment.startswith("/"):
            anchor = self._identified.get(f"{address}#{unquote(fragment)}")
            if anchor is None:
                raise RefusedError(f"{whole.file.name} has no anchor `{unquote(fragment)}`")
            return anchor
        try:
            return self._inside(whole, unquote(fragment[1:]).split("/"), hops)
        except RefusedError:
            if "%2" not in fragment:
                raise
            return self._inside(whole, [unquote(name) for name in fragment[1:].split("/")], hops)

    def _inside(self, part: _Part, names: list[str], hops: int) -> _Part:
        """Return the part at a JSON pointer, through references on its way."""
        for escaped in names:
            name = escaped.replace("~1", "/").replace("~0", "~")
            value = part.value
            while isinstance(value, Mapping) and name not in value and isinstance(value.get("$ref"), str):
                if hops > MAX_HOPS:
                    raise RefusedError("it refers to itself")
                hops += 1
                part = self._locate(joined(_base(part), self._written(value)), hops)
                value = part.value
            part = _Part(part.file, part.path, _base(part), value)
            if isinstance(value, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(value):
                part = part.inner(int(name[:9]), value[int(name[:9])])
            elif isinstance(value, Mapping) and name in value:
                part = part.inner(name, value[name])
            else:
                raise RefusedError(f"{part.file.name} has no `/{'/'.join(names)}`")
        return part

    def _index(self, file: File) -> None:
        """Find the schemas of a file that have a name of their own."""
        if file in self._indexed:
            return
        self._indexed.add(file)
        if not re.search(r"\$(?:id|self|anchor|dynamicAnchor)\b", file.text):
            return
        waiting = [_Part(file, (), file.uri, file.data)]
        if isinstance(file.data, Mapping) and isinstance(own := file.data.get("$self"), str):
            self._identified.setdefault(_joined(file.uri, own), waiting[0])
        while waiting:
            part = waiting.pop()
            if isinstance(part.value, dict):
                base = _base(part)
                part = _Part(part.file, part.path, base, part.value)
                if base and isinstance(part.value.get("$id"), str):
                    self._identified.setdefault(base, part)
                for key in ("$anchor", "$dynamicAnchor"):
                    if isinstance(part.value.get(key), str):
                        self._identified.setdefault(f"{base.partition('#')[0]}#{part.value[key]}", part)
                waiting += [part.inner(name, inner) for name, inner in part.value.items() if name not in _EXAMPLES]
            elif isinstance(part.value, list):
                waiting += [part.inner(index, inner) for index, inner in enumerate(part.value)]


def _base(part: _Part) -> str:
    """Return the URI that references inside a part are relative to."""
    identifier = part.value.get("$id") if isinstance(part.value, Mapping) else None
    return _joined(part.base, identifier) if isinstance(identifier, str) else part.base


def _joined(base: str, reference: str) -> str:
    try:
        return joined(base, reference).removesuffix("#")
    except RefusedError:
        return base


def _broken(part: _Part) -> str:
    """Return a reference that has no target in any document."""
    reference = str(part.value["$ref"])
    return f"{part.file.name}{reference}" if reference.startswith("#") else reference


def _escaped(name: str | int) -> str:
    """Return a name as a part of a reference."""
    return str(name).replace("~", "~0").replace("/", "~1").replace("%", "%25")
