"""OpenAPI 3.0 from Swagger 2.0. References are resolved before: only those to `definitions` are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.importers.openapi.document import items, table, text
from toolmason.importers.openapi.parts import METHODS, PARTS, Form

_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_JSON: Final = "application/json"
_STYLES: Final = {
    "multi": {"style": "form", "explode": True},
    "csv": {"style": "form", "explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
}
_SEPARATORS: Final = {"csv": "commas", "ssv": "spaces", "pipes": "`|`", "tsv": "tabs"}
_NO_SCHEMA: Final = frozenset(
    {"name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema", "$ref"}
)
"""Members of a parameter that are not part of its schema."""
_OLD: Final = "#/definitions/"


def converted(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document for a Swagger document. Its schemas are changed in place."""
    paths = {
        path: _path(item, document) if isinstance(item, Mapping) else item
        for path, item in table(document.get("paths")).items()
    }
    schemas = table(document.get("definitions"))
    result = {
        "openapi": "3.0.3",
        "info": document.get("info"),
        "tags": document.get("tags"),
        "servers": _servers(document, document.get("schemes")),
        "security": document.get("security"),
        "paths": paths,
        "components": {
            "schemas": dict(schemas),
            "securitySchemes": {
                name: _credential(table(scheme)) for name, scheme in table(document.get("securityDefinitions")).items()
            },
        },
    }
    _convert_schemas([*schemas.values(), *_schemas_of(paths)])
    return {key: value for key, value in result.items() if value is not None}


def _servers(document: Mapping[str, Any], schemes: Any) -> list[dict[str, str]]:
    host, base = text(document.get("host")), text(document.get("basePath")) or "/"
    base = base if base.startswith("/") else f"/{base}"
    if not host:
        return [{"url": base}]
    known = [scheme for scheme in items(schemes) if scheme in ("https", "http")]
    scheme = "https:" if "https" in known else "http:" if known else ""
    return [{"url": f"{scheme}//{host}{base}"}]


def _credential(scheme: Mapping[str, Any]) -> dict[str, Any]:
    kind = scheme.get("type")
    if kind == "basic":
        return {"type": "http", "scheme": "basic"}
    return {**scheme, "flows": {}} if kind == "oauth2" else dict(scheme)


def _path(item: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    shared = items(item.get("parameters"))
    return {
        method: _operation(item[method], shared, document)
        for method in METHODS
        if isinstance(item.get(method), Mapping)
    }


def _operation(data: Mapping[str, Any], shared: Sequence[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operation with the parameters of its path, whose body belongs to each operation."""
    own = data.get("parameters") or []
    result = {key: value for key, value in data.items() if key not in ("consumes", "produces", "schemes", "responses")}
    if not isinstance(own, list):
        return result
    chosen = {(text(table(one).get("in")), text(table(one).get("name"))): one for one in (*shared, *own)}
    if any(table(one).get("in") == "body" for one in own):
        chosen = {key: one for key, one in chosen.items() if key[0] != "body" or one in own}
    consumed = [name for name in items(data.get("consumes", document.get("consumes"))) if isinstance(name, str)]
    result["parameters"] = [
        _parameter(one) if isinstance(one, Mapping) else one
        for (place, _), one in chosen.items()
        if place not in ("body", "formData")
    ]
    bodies = [one for (place, _), one in chosen.items() if place == "body"]
    form = [one for (place, _), one in chosen.items() if place == "formData"]
    if bodies:
        result["requestBody"] = _body(bodies[-1], consumed)
    elif form:
        result["requestBody"] = _form(form, consumed)
    if "schemes" in data and text(document.get("host")):
        result["servers"] = _servers(document, data["schemes"])
    produced = [name for name in items(data.get("produces", document.get("produces"))) if isinstance(name, str)] or [
        _JSON
    ]
    result["responses"] = {code: _response(answer, produced) for code, answer in table(data.get("responses")).items()}
    return result


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: parameter[key] for key in ("name", "in", "required", "description", "$ref") if key in parameter}
    result |= {key: value for key, value in parameter.items() if key.startswith("x-")}
    schema = _schema_of(parameter)
    if parameter.get("type") == "array":
        separated = text(parameter.get("collectionFormat")) or "csv"
        if parameter.get("in") != "query":
            pass  # commas, as OpenAPI 3 writes lists there
        elif separated in _STYLES:
            result |= _STYLES[separated]
        else:
            schema = _joined(schema, separated)
    return {**result, "schema": schema}


def _schema_of(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = {key: value for key, value in parameter.items() if key not in _NO_SCHEMA and not key.startswith("x-")}
    if "x-nullable" in parameter:
        schema["x-nullable"] = parameter["x-nullable"]
    return schema


def _joined(schema: Mapping[str, Any], separated: str) -> dict[str, Any]:
    """Return the schema of a list that is sent as one text."""
    words = f"Values separated by {_SEPARATORS.get(separated, separated)}."
    return {"type": "string", "description": f"{text(schema.get('description'))}\n{words}".lstrip()}


def _body(parameter: Mapping[str, Any], consumed: Sequence[str]) -> dict[str, Any]:
    schema = parameter.get("schema", {})
    content = {media: {"schema": schema} for media in consumed or [_JSON]}
    return {"required": parameter.get("required") is True, "content": content}


def _form(parameters: Sequence[Mapping[str, Any]], consumed: Sequence[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    encoding: dict[str, Any] = {}
    has_file = any(parameter.get("type") == "file" for parameter in parameters)
    media = _MULTIPART if has_file or (_MULTIPART in consumed and _FORM not in consumed) else _FORM
    for parameter in parameters:
        schema = _schema_of(parameter)
        if "description" in parameter:
            schema["description"] = parameter["description"]
        separated = text(parameter.get("collectionFormat")) or "csv"
        if parameter.get("type") == "array" and separated != "multi":
            if media == _FORM and separated in _STYLES:
                encoding[text(parameter.get("name"))] = _STYLES[separated]
            else:
                schema = _joined(schema, separated)
        properties[text(parameter.get("name"))] = schema
    required = [text(parameter.get("name")) for parameter in parameters if parameter.get("required") is True]
    schema = {"type": "object", "properties": properties, "required": required}
    content = {"schema": schema, **({"encoding": encoding} if encoding else {})}
    return {"required": bool(required), "content": {media: content}}


def _response(answer: Any, produced: Sequence[str]) -> Any:
    if not isinstance(answer, Mapping) or "schema" not in answer:
        return answer
    rest = {key: value for key, value in answer.items() if key not in ("schema", "examples")}
    return {**rest, "content": {media: {"schema": answer["schema"]} for media in produced}}


def _schemas_of(paths: Mapping[str, Any]) -> list[Any]:
    """Return the schemas of parameters, bodies and answers."""
    found: list[Any] = []
    for item in paths.values():
        for operation in table(item).values():
            found += [table(one).get("schema") for one in items(operation.get("parameters"))]
            contents = [operation.get("requestBody"), *table(operation.get("responses")).values()]
            for content in contents:
                found += [table(media).get("schema") for media in table(table(content).get("content")).values()]
    return found


def _convert_schemas(waiting: list[Any]) -> None:
    """Change schemas, and those inside, to the form of OpenAPI 3.0."""
    seen = set[int]()
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_OLD):
            schema["$ref"] = f"#/components/schemas/{reference.removeprefix(_OLD)}"
        if schema.get("type") == "file":
            schema |= {"type": "string", "format": "binary"}
        if schema.get("x-nullable") is True:
            schema["nullable"] = True
        if isinstance(schema.get("discriminator"), str):
            schema["discriminator"] = {"propertyName": schema["discriminator"]}
        for name, (form, _) in PARTS["schema"].items():
            inner = schema.get(name)
            if isinstance(inner, dict):
                waiting += inner.values() if form is Form.MAP else [inner]
            elif isinstance(inner, list):
                waiting += inner
