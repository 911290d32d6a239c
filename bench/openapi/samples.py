"""Requests that a document describes: values for parameters and body, made from their schemas and validated by them.

This module shares no code with the importer, so that one cannot hide a mistake of the other.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from hypothesis.errors import HypothesisException
from hypothesis.strategies import from_regex
from openapi_schema_validator import OAS30Validator, OAS31Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

METHODS: Final = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
MEDIA: Final = ("application/json", "*/*", "application/x-www-form-urlencoded", "multipart/form-data")
_IGNORED: Final = frozenset({"accept", "content-type", "authorization", "content-length"})
"""Headers that OpenAPI ignores, or that every HTTP client sets itself."""
_FORMATS: Final = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "uri": "https://example.com/a",
    "url": "https://example.com/a",
    "email": "ada@example.com",
    "uuid": "6f0c2f3e-0c52-4a53-9d3a-1b2c3d4e5f60",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
    "byte": "YWJj",
    "binary": "abc",
    "duration": "P1D",
}
_MAX_DEPTH: Final = 8


class NoSampleError(ValueError):
    """No valid value can be made for a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A value of a parameter with its place and style."""

    name: str
    place: str
    value: Any
    style: str = "form"
    explode: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One documented request of an operation. `body` is None without one."""

    parts: tuple[Part, ...]
    media: str = ""
    body: Any = None
    encoding: Mapping[str, Any] = field(default_factory=dict)
    writable: frozenset[str] = frozenset()


def read_document(path: Path) -> Any:
    """Return a document without discriminators: those of bundled documents name files that are not there.

    The alternatives themselves decide which of them a value is.
    """
    return json.loads(path.read_text(encoding="utf-8"), object_hook=_without_discriminator)


def _without_discriminator(node: dict[str, Any]) -> dict[str, Any]:
    discriminator = node.get("discriminator")
    if isinstance(discriminator, dict) and "propertyName" in discriminator:
        del node["discriminator"]
    return node


@dataclass(frozen=True)
class Sampler:
    """Makes samples of one document."""

    document: Mapping[str, Any]

    @cached_property
    def _registry(self) -> Registry[Any]:
        registry: Registry[Any] = Registry().with_resource("", DRAFT202012.create_resource(self.document))
        return registry

    @property
    def _is_3_0(self) -> bool:
        return str(self.document["openapi"]).startswith("3.0")

    def operations(self) -> Iterator[tuple[str, str, Mapping[str, Any], list[Mapping[str, Any]]]]:
        """Yield method, path, operation and resolved parameters."""
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if isinstance(item.get(method), dict):
                    merged = {}
                    for raw in (*item.get("parameters", ()), *item[method].get("parameters", ())):
                        parameter = self.resolve(raw)
                        merged[parameter["in"], parameter["name"]] = parameter
                    yield method.upper(), path, item[method], list(merged.values())

    def resolve(self, part: Any) -> Any:
        """Follow references."""
        while isinstance(part, dict) and "$ref" in part:
            target: Any = self.document
            for name in part["$ref"].removeprefix("#/").split("/"):
                name = unquote(name).replace("~1", "/").replace("~0", "~")  # noqa: PLW2901  decoded
                target = target[int(name) if isinstance(target, list) else name]
            part = target
        return part

    def sample(
        self, operation: Mapping[str, Any], parameters: list[Mapping[str, Any]], *, full: bool, seed: int
    ) -> Sample:
        """Return a request with all parameters, or only the required ones. `seed` chooses alternatives of unions.

        Raises:
            NoSampleError: no valid value can be made.
        """
        chooser = _Chooser(self, full=full, seed=seed)
        parts: list[Part] = []
        for parameter in parameters:
            place = parameter["in"]
            is_required = parameter.get("required") or place == "path"
            is_ignored = place == "header" and parameter["name"].lower() in _IGNORED
            if (not full and not is_required) or is_ignored:
                continue
            schema = parameter.get("schema", {"type": "string"})
            value = chooser.valid(schema)
            value = value.encode("ascii", "ignore").decode() if place == "header" and isinstance(value, str) else value
            style = parameter.get("style") or ("form" if place in ("query", "cookie") else "simple")
            explode = parameter.get("explode", style == "form")
            if isinstance(value, dict) and style == "form" and explode:
                parts += [Part(name=name, place=place, value=item) for name, item in value.items()]
            else:
                parts.append(Part(name=parameter["name"], place=place, value=value, style=style, explode=explode))
        return self._with_body(operation, tuple(parts), chooser, full=full)

    def _with_body(
        self, operation: Mapping[str, Any], parts: tuple[Part, ...], chooser: _Chooser, *, full: bool
    ) -> Sample:
        body = self.resolve(operation.get("requestBody", {}))
        if not body.get("content") or (not full and not body.get("required")):
            return Sample(parts=parts)
        content = body["content"]
        media = next((name for name in MEDIA if name in content), "")
        media = (
            media
            or next((name for name in content if name == "application/merge-patch+json"), "")
            or next(iter(content))
        )
        value = chooser.valid(content[media].get("schema", {}))
        return Sample(parts=parts, media=media, body=value, encoding=content[media].get("encoding", {}))

    def validate(self, schema: Any, value: Any) -> bool:
        """Return whether a value is valid by the document."""
        kind = OAS30Validator if self._is_3_0 else OAS31Validator
        validator = kind(schema, registry=self._registry, _resolver=self._registry.resolver(""))
        return bool(validator.is_valid(value))


@dataclass
class _Chooser:
    sampler: Sampler
    full: bool
    seed: int

    def valid(self, schema: Any) -> Any:
        """Return a valid value that is not empty."""
        for attempt in range(6):
            self._random = random.Random(self.seed + attempt)  # noqa: S311  not for secrets
            value = self._value(schema, 0, ())
            if value is not None and value != "" and self.sampler.validate(schema, value):
                return value
        message = f"no valid value for {str(schema)[:100]}"
        raise NoSampleError(message)

    def _value(self, schema: Any, depth: int, trail: tuple[int, ...]) -> Any:
        if isinstance(schema, dict) and "$ref" in schema and "required" in schema:
            # Version 3.0 ignores what stands beside a reference, later ones do not; a request can satisfy both.
            schema = {"allOf": [{"$ref": schema["$ref"]}], "required": schema["required"]}
        schema = self.sampler.resolve(schema)
        if not isinstance(schema, dict):
            return {"any": 1}
        schema = self._composed(schema, depth)
        if "const" in schema:
            return schema["const"]
        if choices := [choice for choice in schema.get("enum", ()) if choice not in (None, "")]:
            return self._random.choice(choices)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((name for name in kind if name != "null"), "null")
        kind = kind or ("object" if "properties" in schema else "array" if "items" in schema else "")
        if kind == "object":
            return self._object(schema, depth, (*trail, id(schema)))
        if kind == "array":
            return self._array(schema, depth, trail)
        return self._scalar(kind, schema)

    def _composed(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        merged = {key: value for key, value in schema.items() if key not in ("allOf", "oneOf", "anyOf")}
        parts = [self.sampler.resolve(part) for part in schema.get("allOf", ())]
        for keyword in ("oneOf", "anyOf"):
            branches = [self.sampler.resolve(branch) for branch in schema.get(keyword, ())]
            branches = [
                branch
                for branch in branches
                if branch.get("type") != "null" and branch.get("enum") not in ([None], [""])
            ]
            if branches:
                parts.append(self._random.choice(branches))
        for raw in parts:
            part = self._composed(raw, depth)
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            required = [*merged.get("required", ()), *part.get("required", ())]
            merged = {**part, **merged}
            merged |= {"properties": properties} if properties else {}
            merged |= {"required": required} if required else {}
        return merged

    def _object(self, schema: Mapping[str, Any], depth: int, trail: tuple[int, ...]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        required = set(schema.get("required", ()))
        for name, inner in schema.get("properties", {}).items():
            resolved = self.sampler.resolve(inner)
            if not isinstance(resolved, dict):
                continue
            is_shallow = self.full and depth < _MAX_DEPTH and trail.count(id(resolved)) == 0
            if self._is_read_only(resolved) or not (name in required or is_shallow):
                continue
            if self.full and depth < 2 and name not in required and not self._has_sample(inner):
                continue
            value[name] = self._value(inner, depth + 1, trail)
        extra = schema.get("additionalProperties")
        undeclared = required - schema.get("properties", {}).keys() if extra is not False else ()
        value |= dict.fromkeys(sorted(undeclared), "any")
        if isinstance(extra, dict) and extra and self.full and not schema.get("properties"):
            value["key"] = self._value(extra, depth + 1, trail)
        return value

    def _is_read_only(self, schema: Any) -> bool:
        """Return whether a member is one that only answers have, also by a part of it."""
        schema = self.sampler.resolve(schema)
        if not isinstance(schema, dict):
            return False
        return schema.get("readOnly") is True or any(map(self._is_read_only, schema.get("allOf", ())))

    def _has_sample(self, schema: Any) -> bool:
        """Return whether an optional member can have a valid value."""
        state = self._random.getstate()
        value = self._value(schema, _MAX_DEPTH, ())
        is_valid = self.sampler.validate(schema, value)
        self._random.setstate(state)
        return is_valid

    def _array(self, schema: Mapping[str, Any], depth: int, trail: tuple[int, ...]) -> list[Any]:
        count = max(schema.get("minItems", 0), 1 if self.full else 0)
        if depth >= _MAX_DEPTH:
            count = schema.get("minItems", 0)
        return [self._value(schema.get("items", {}), depth + 1, trail) for _ in range(min(count, 20))]

    def _scalar(self, kind: str, schema: Mapping[str, Any]) -> Any:
        if kind in ("integer", "number"):
            low, high = schema.get("minimum"), schema.get("maximum")
            low = (
                schema["exclusiveMinimum"] + 1
                if isinstance(schema.get("exclusiveMinimum"), int | float)
                and not isinstance(schema.get("exclusiveMinimum"), bool)
                else low
            )
            value = low if low is not None else min(high, 7) if high is not None else 7
            return int(value) + (1 if schema.get("exclusiveMinimum") is True else 0) if kind == "integer" else value
        if kind == "boolean":
            return self._random.choice([True, False])
        if kind == "null":
            return None
        if kind == "string":
            return self._string(schema)
        return "any"

    def _string(self, schema: Mapping[str, Any]) -> str:
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        low, high = schema.get("minLength", 0), schema.get("maxLength", 10_000)
        if pattern := schema.get("pattern"):
            return _matching(pattern, low, high)
        text = f"a b/{self._random.randrange(100)}é&"
        return (text + "x" * low)[: max(1, min(high, max(low, len(text))))].strip() or "x"


def _matching(pattern: str, low: int, high: int) -> str:
    example = next(
        (
            text
            for text in ("abc", "a-b", "A1", "1", "main", "0" * 40)
            if re.search(pattern, text) and low <= len(text) <= high
        ),
        "",
    )
    if example:
        return example
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `example` is for interactive use
            return str(
                from_regex(re.compile(pattern, re.ASCII), fullmatch=True)  # as in ECMA-262, `\d` means 0 to 9
                .filter(lambda text: low <= len(text) <= high and text.isprintable())
                .example()
            )
    except (HypothesisException, re.error):
        return "x" * max(low, 1)
