"""`toolmason import openapi` with Swagger 2.0: the manifest is that of the same API in OpenAPI 3."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

SWAGGER = """
swagger: "2.0"
info: {title: Shop, version: "1.0"}
host: api.shop.example
basePath: /v1
schemes: [http, https]
consumes: [application/json]
produces: [application/json]
securityDefinitions:
  key: {type: apiKey, in: header, name: X-Key}
  login: {type: basic}
  token: {type: oauth2, flow: implicit, authorizationUrl: "https://shop.example", scopes: {}}
security: [{key: []}]
parameters:
  Limit: {name: limit, in: query, type: integer, minimum: 1, maximum: 100, default: 10}
  Order: {name: order, in: body, required: true, schema: {$ref: "#/definitions/Order"}}
paths:
  /orders/{id}:
    parameters:
    - {name: id, in: path, required: true, type: string}
    - $ref: "#/parameters/Order"
    put:
      operationId: put_order
      security: [{login: []}]
      parameters: [{name: X-Trace, in: header, type: string, format: uuid}]
      responses: {200: {description: Fine, schema: {$ref: "#/definitions/Order"}}}
  /orders:
    get:
      operationId: list_orders
      tags: [orders]
      parameters:
      - $ref: "#/parameters/Limit"
      - {name: states, in: query, type: array, items: {type: string}, collectionFormat: multi}
      - {name: ids, in: query, type: array, items: {type: integer}}
      - {name: spaced, in: query, type: array, items: {type: string}, collectionFormat: ssv}
      - {name: piped, in: query, type: array, items: {type: string}, collectionFormat: pipes}
      - {name: tabbed, in: query, type: array, items: {type: string}, collectionFormat: tsv, description: Tabs}
      responses: {}
    post:
      operationId: search_orders
      consumes: [application/x-www-form-urlencoded]
      schemes: [https]
      parameters:
      - {name: words, in: formData, required: true, type: string, description: Words}
      - {name: tags, in: formData, type: array, items: {type: string}, collectionFormat: multi}
      - {name: ids, in: formData, type: array, items: {type: string}}
      responses: {}
  /files:
    post:
      operationId: add_file
      security: [{token: []}]
      parameters:
      - {name: file, in: formData, required: true, type: file, description: Content}
      - {name: note, in: formData, type: string, x-nullable: true}
      responses: {}
definitions:
  Order:
    type: object
    discriminator: kind
    required: [kind]
    properties:
      id: {type: string, readOnly: true}
      kind: {type: string, enum: [a, b]}
      note: {type: string, x-nullable: true}
      next: {$ref: "#/definitions/Order"}
      lines: {type: array, items: {$ref: "#/definitions/Line"}}
  Line:
    allOf:
    - {type: object, properties: {sku: {type: string}}}
    - {properties: {price: {$ref: "#/definitions/Price"}}}
  Price: {type: object, properties: {amount: {type: number}}}
"""
OPENAPI = """
openapi: 3.0.3
info: {title: Shop, version: "1.0"}
servers: [{url: "https://api.shop.example/v1"}]
security: [{key: []}]
paths:
  /orders/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put:
      operationId: put_order
      security: [{login: []}]
      parameters: [{name: X-Trace, in: header, schema: {type: string, format: uuid}}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
      responses: {200: {description: Fine, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}}
  /orders:
    get:
      operationId: list_orders
      tags: [orders]
      parameters:
      - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 100, default: 10}}
      - {name: states, in: query, schema: {type: array, items: {type: string}}}
      - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
      - {name: spaced, in: query, style: spaceDelimited, explode: false, schema: {type: array, items: {type: string}}}
      - {name: piped, in: query, style: pipeDelimited, explode: false, schema: {type: array, items: {type: string}}}
      - {name: tabbed, in: query, description: Tabs, schema: {type: string}}
      responses: {}
    post:
      operationId: search_orders
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              required: [words]
              properties:
                words: {type: string, description: Words}
                tags: {type: array, items: {type: string}}
                ids: {type: array, items: {type: string}}
            encoding:
              ids: {style: form, explode: false}
      responses: {}
  /files:
    post:
      operationId: add_file
      security: [{token: []}]
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [file]
              properties:
                file: {type: string, format: binary, description: Content}
                note: {type: string, nullable: true}
      responses: {}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    login: {type: http, scheme: basic}
    token: {type: oauth2, flows: {}}
  schemas:
    Order:
      type: object
      required: [kind]
      properties:
        id: {type: string, readOnly: true}
        kind: {type: string, enum: [a, b]}
        note: {type: string, nullable: true}
        next: {$ref: "#/components/schemas/Order"}
        lines: {type: array, items: {$ref: "#/components/schemas/Line"}}
    Line:
      allOf:
      - {type: object, properties: {sku: {type: string}}}
      - {properties: {price: {$ref: "#/components/schemas/Price"}}}
    Price: {type: object, properties: {amount: {type: number}}}
"""


def run(source: Path, content: str, *arguments: str | Path) -> Result:
    source.write_text(content, encoding="utf-8")
    return CliRunner().invoke(toolmason, ["import", "openapi", *map(str, (source, *arguments))])


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_swagger_document_gives_the_manifest_of_its_openapi_document(tmp_path: Path, suffix: str) -> None:
    swagger = SWAGGER if suffix == "yaml" else json.dumps(yaml.safe_load(SWAGGER))

    old = run(tmp_path / f"swagger.{suffix}", swagger, "--report", tmp_path / "report.json")
    new = run(tmp_path / "openapi.yaml", OPENAPI)

    assert old.exit_code == new.exit_code == 0, old.output + new.output
    assert tomllib.loads(old.stdout) == tomllib.loads(new.stdout)
    assert len(tomllib.loads(old.stdout)["tools"]) == 4
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["operations"]["PUT /orders/{id}"]["at"].startswith(f"{tmp_path / 'swagger'}.{suffix}:")
    assert suffix == "json" or report["operations"]["PUT /orders/{id}"]["at"].endswith(":22:5")


def test_a_swagger_document_in_several_files(tmp_path: Path) -> None:
    (tmp_path / "order.yaml").write_text(
        "type: object\nproperties: {line: {$ref: 'common.json#/definitions/Line'}}", encoding="utf-8"
    )
    (tmp_path / "common.json").write_text(
        json.dumps(
            {
                "definitions": {"Line": {"type": "object", "properties": {"sku": {"type": "string"}}}},
                "parameters": {"order": {"name": "order", "in": "body", "schema": {"$ref": "order.yaml"}}},
            }
        ),
        encoding="utf-8",
    )

    result = run(
        tmp_path / "swagger.yaml",
        "swagger: 2.0\nhost: a.example\npaths: {/a: {post: {operationId: add_a, parameters:"
        " [{$ref: 'common.json#/parameters/order'}]}}}",
    )

    manifest = tomllib.loads(result.stdout)
    assert manifest["tools"]["add_a"]["params"]["line"]["type"] == "Line"
    assert manifest["types"]["Line"]["fields"].keys() == {"sku"}


SERVERS: dict[str, tuple[dict[str, Any], str]] = {
    "no scheme": ({"host": "a.example"}, "https://a.example"),
    "http only": ({"host": "a.example", "schemes": ["http"]}, "http://a.example"),
    "other schemes": ({"host": "a.example:8443", "schemes": ["ws"], "basePath": "v2/"}, "https://a.example:8443/v2"),
    "no host": ({"basePath": "/v2"}, "$SHOP_URL"),
    "a metadata service": ({"host": "169.254.169.254"}, ""),
}


@pytest.mark.parametrize(("members", "url"), SERVERS.values(), ids=SERVERS)
def test_the_server_comes_from_host_path_and_schemes(tmp_path: Path, members: dict[str, Any], url: str) -> None:
    document = {"swagger": "2.0", "paths": {"/a": {"get": {"operationId": "get_a"}}}, **members}
    source = tmp_path / "swagger.json"

    result = run(source, json.dumps(document), "--name", "shop")

    if url:
        assert tomllib.loads(result.stdout)["apis"]["shop"]["base_url"] == url
    else:
        assert result.exit_code == 1


CONSUMES: dict[str, tuple[Any, str]] = {
    "none": (None, ""),
    "an empty list": ([], ""),
    "with a charset": (["application/json; charset=utf-8"], ""),
    "json among others": (["application/xml", "application/json"], "media"),
    "xml": (["application/xml"], ""),
}


@pytest.mark.parametrize(("consumes", "loss"), CONSUMES.values(), ids=CONSUMES)
def test_the_media_type_of_a_body_is_that_of_consumes(tmp_path: Path, consumes: Any, loss: str) -> None:
    body = {"name": "b", "in": "body", "required": True, "schema": {"properties": {"x": {"type": "string"}}}}
    post = {"operationId": "add_a", "parameters": [body], **({} if consumes is None else {"consumes": consumes})}
    document = {
        "swagger": "2.0",
        "host": "a.example",
        "paths": {"/a": {"post": post, "get": {"operationId": "get_a"}}},
    }

    run(tmp_path / "swagger.json", json.dumps(document), "--report", tmp_path / "report.json")

    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["operations"]["POST /a"]
    assert [item["kind"] for item in report["losses"]] == ([loss] if loss else [])


@pytest.mark.parametrize("schema", [{"type": "array", "items": {}}, {"type": "string"}, {}, {"type": "object"}])
def test_the_optional_body_of_a_get_request_is_a_loss(tmp_path: Path, schema: dict[str, Any]) -> None:
    get = {"operationId": "get_a", "parameters": [{"name": "b", "in": "body", "schema": schema}]}
    document = {"swagger": "2.0", "host": "a.example", "paths": {"/a": {"get": get}}}

    run(tmp_path / "swagger.json", json.dumps(document), "--report", tmp_path / "report.json")

    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["operations"]["GET /a"]
    assert report["losses"] == [{"kind": "parameter", "detail": "the body, which a GET request does not have"}]


@pytest.mark.parametrize("part", [7, [], {"in": {}, "name": []}, {"in": "body", "schema": 7}, {"in": "formData"}])
def test_no_damaged_parameter_ends_in_a_traceback(tmp_path: Path, part: Any) -> None:
    document = {
        "swagger": "2.0",
        "paths": {"/a": {"parameters": [part], "get": {}, "post": {"parameters": [part, part]}}},
    }

    result = run(tmp_path / "swagger.json", json.dumps(document))

    assert result.exit_code in (0, 1)
    assert result.exception is None or isinstance(result.exception, SystemExit)
