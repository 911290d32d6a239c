"""`toolmason import openapi` with references: documents in several files, and references without a target."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

HEAD = "openapi: 3.1.0\ninfo: {title: Pets, version: '1'}\nservers: [{url: https://api.example.com}]\n"
LIMIT = "{name: limit, in: query, schema: {type: integer}}"
PET = "{type: object, required: [name], properties: {name: {type: string}, owner: {$ref: OWNER}}}"
OWNER = "{type: object, properties: {city: {type: string}}}"
ONE_FILE = f"""{HEAD}paths:
  /pets/{{id}}:
    put:
      operationId: put_pet
      parameters:
      - {{name: id, in: path, required: true, schema: {{type: string}}}}
      - {LIMIT}
      requestBody:
        required: true
        content:
          application/json: {{schema: {{type: object, properties: {{pet: {{$ref: "#/components/schemas/Pet"}}}}}}}}
components:
  schemas:
    Pet: {PET.replace("OWNER", "'#/components/schemas/Owner'")}
    Owner: {OWNER}
"""
ID = "{name: id, in: path, required: true, schema: {type: string}}"
BODY = "{required: true, content: {application/json: {schema: {type: object, properties: {pet: {$ref: PET}}}}}}"


def pet(owner: str) -> str:
    return PET.replace("OWNER", f"'{owner}'")


def body(reference: str) -> str:
    return BODY.replace("PET", f"'{reference}'")


def operation(reference: str) -> str:
    return f"{{operationId: put_pet, parameters: [{ID}, {LIMIT}], requestBody: {body(reference)}}}"


LAYOUTS: dict[str, dict[str, str]] = {
    "a path item": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{$ref: paths/pet.yaml}}}}",
        "paths/pet.yaml": f"put: {operation('../schemas/Pet.yaml')}",
        "schemas/Pet.yaml": pet("Owner.yaml"),
        "schemas/Owner.yaml": OWNER,
    },
    "in place of an operation": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{put: {{$ref: put.yaml}}}}}}",
        "put.yaml": operation("all.yaml#/Pet"),
        "all.yaml": f"Pet: {pet('#/Owner')}\nOwner: {OWNER}",
    },
    "parameters and bodies": {
        "api.yaml": f"{HEAD}paths:\n  /pets/{{id}}:\n    parameters: [{{$ref: 'common.yaml#/parameters/Id'}}]\n"
        "    put: {operationId: put_pet, parameters: [{$ref: 'common.yaml#/parameters/limit'}],"
        " requestBody: {$ref: 'common.yaml#/bodies/pet'}}",
        "common.yaml": f"parameters: {{Id: {ID}, limit: {LIMIT}}}\nbodies: {{pet: {body('#/schemas/Pet')}}}\n"
        f"schemas: {{Pet: {pet('#/schemas/Owner')}, Owner: {OWNER}}}",
    },
    "in place of lists and maps": {
        "api.yaml": f"{HEAD}paths: {{$ref: paths.yaml}}\ncomponents: {{schemas: {{$ref: schemas.yaml}}}}",
        "paths.yaml": "/pets/{id}: {put: {operationId: put_pet, parameters: {$ref: parameters.yaml}, requestBody:"
        " {required: true, content: {$ref: 'content.yaml'}}}}",
        "parameters.yaml": f"[{ID}, {LIMIT}]",
        "content.yaml": "application/json: {schema: {type: object, properties: {$ref: properties.yaml}}}",
        "properties.yaml": "pet: {$ref: 'api.yaml#/components/schemas/Pet'}",
        "schemas.yaml": f"Pet: {pet('#/Owner')}\nOwner: {OWNER}",
    },
    "components that are files": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{put: {operation('#/components/schemas/Pet')}}}}}\n"
        "components: {schemas: {Pet: {$ref: files/animal.yaml}, Owner: {$ref: 'files/person.yaml#'},"
        " Unused: {$ref: missing.yaml}}}",
        "files/animal.yaml": pet("../api.yaml#/components/schemas/Owner"),
        "files/person.yaml": OWNER,
    },
    "json, and names that are encoded": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{$ref: 'my%20paths.json#/~1pets~1%7Bid%7D'}}}}",
        "my paths.json": json.dumps({"/pets/{id}": {"put": {"$ref": "my put.yaml"}}}),
        "my put.yaml": operation("s.yaml#/a%2Fb/Pet"),
        "s.yaml": f"a/b: {{Pet: {pet('#/a~1b/Owner')}, Owner: {OWNER}}}",
    },
    "schemas with $id and $anchor": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{put: {operation('Pet.yaml')}}}}}",
        "Pet.yaml": f"$id: https://example.com/schemas/pet\n$defs: {{Owner: {{$anchor: owner, {OWNER[1:]}}}\n"
        "type: object\nrequired: [name]\nproperties: {name: {type: string}, owner: {$ref: '#owner'}}",
    },
    "an $id that is not where the file is": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{put: {operation('Pet.yaml')}}}}}",
        "Pet.yaml": f"{{$id: 'https://example.com/schemas/Pet.yaml', {pet('Owner.yaml')[1:]}",
        "Owner.yaml": f"{{$id: 'https://example.com/schemas/Owner.yaml', {OWNER[1:]}",
    },
    "a document of openapi 3.2 that names itself": {
        "api.yaml": f"{HEAD.replace('3.1.0', '3.2.0')}$self: https://example.com/api\npaths:\n  /pets/{{id}}:\n"
        f"    put: {{operationId: put_pet, parameters: [{ID}, {LIMIT}], requestBody: {{required: true,"
        " content: {application/json: {$ref: '#/components/mediaTypes/pet'}}}}\n"
        "components:\n  mediaTypes: {pet: {schema: {type: object, properties: {pet:"
        " {$ref: 'https://example.com/api#/components/schemas/Pet'}}}}}\n"
        f"  schemas: {{Pet: {pet('Owner.yaml')}}}",
        "Owner.yaml": OWNER,
    },
    "a pointer through a reference": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{put: {operation('a.yaml#/schemas/Pet')}}}}}",
        "a.yaml": "schemas: {$ref: b.yaml}",
        "b.yaml": f"Pet: {pet('#/Owner')}\nOwner: {OWNER}",
    },
    "members beside a reference": {
        "api.yaml": f"{HEAD}paths: {{'/pets/{{id}}': {{$ref: pet.yaml, parameters: [{ID}]}}}}",
        "pet.yaml": f"put: {{operationId: put_pet, parameters: [{LIMIT}], requestBody: {body('all.yaml#/Pet')}}}",
        "all.yaml": f"Pet: {pet('#/Owner')}\nOwner: {OWNER}",
    },
}


def write(directory: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return directory / next(iter(files))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(toolmason, ["import", "openapi", *map(str, arguments)])


def tables(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return tomllib.loads(result.stdout)


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
def test_a_document_in_several_files_gives_the_manifest_of_one_file(tmp_path: Path, files: dict[str, str]) -> None:
    one = run(write(tmp_path / "one", {"api.yaml": ONE_FILE}))

    several = run(write(tmp_path / "several", files))

    assert tables(several) == tables(one)
    assert tables(one)["tools"]["put_pet"]["params"].keys() == {"id", "limit", "pet"}


def test_names_of_schemas_in_several_files_stay_different(tmp_path: Path) -> None:
    api = write(
        tmp_path,
        {
            "api.yaml": f"{HEAD}paths:\n  /a: {{post: {operation('a.yaml#/Pet')}}}\n"
            f"  /b: {{post: {operation('b/b.yaml#/Pet')}}}\n"
            "components: {schemas: {Pet: {type: object, properties: {mine: {type: string}}}}}",
            "a.yaml": "Pet: {type: object, properties: {first: {type: string}}}",
            "b/b.yaml": "Pet: {type: object, properties: {second: {type: string},"
            " own: {$ref: '../api.yaml#/components/schemas/Pet'}}}",
        },
    )

    types = tables(run(api))["types"]

    assert sorted(sorted(entry["fields"]) for entry in types.values()) == [["first"], ["mine"], ["own", "second"]]


def test_a_cycle_through_files_ends(tmp_path: Path) -> None:
    api = write(
        tmp_path,
        {
            "api.yaml": f"{HEAD}paths: {{/a: {{post: {operation('node.yaml')}}}}}",
            "node.yaml": "{type: object, properties: {next: {$ref: list.yaml}, name: {type: string}}}",
            "list.yaml": "{type: array, items: {$ref: node.yaml}}",
        },
    )

    manifest = tables(run(api))

    assert manifest["tools"]["put_pet"]["params"]["pet"]["type"] == "Node"
    assert manifest["types"]["Node"]["fields"].keys() == {"next", "name"}


MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "a file that does not exist": (
        {"api.yaml": f"{HEAD}paths:\n  /a:\n    get:\n      $ref: gone.yaml"},
        "api.yaml:7:7: the reference `gone.yaml` cannot be resolved: there is no file gone.yaml",
    ),
    "a pointer to nothing": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{get: {{parameters: [{{$ref: '#/b'}}]}}}}}}"},
        "api.yaml:4:34: the reference `#/b` cannot be resolved: api.yaml has no `/b`",
    ),
    "a schema in another file": (
        {
            "api.yaml": f"{HEAD}paths: {{/a: {{post: {operation('b.json#/Pet')}}}}}",
            "b.json": '{\n "Pet": {"type": "object", "properties":\n  {"x": {"allOf": [{}, {"$ref": "#/Gone"}]}}}}',
        },
        "b.json:3:25: the reference `#/Gone` cannot be resolved: b.json has no `/Gone`",
    ),
    "an answer": (
        {"api.yaml": f"{HEAD}paths:\n  /a:\n    get:\n      responses:\n        200: {{$ref: '#/x'}}"},
        "api.yaml:8:15: the reference `#/x` cannot be resolved",
    ),
    "an anchor": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{post: {operation('b.yaml#gone')}}}}}", "b.yaml": "$anchor: other"},
        "the reference `b.yaml#gone` cannot be resolved: b.yaml has no anchor `gone`",
    ),
    "itself": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: b.yaml}}}}", "b.yaml": "$ref: b.yaml"},
        "b.yaml:1:1: the reference `b.yaml` cannot be resolved: it refers to itself",
    ),
    "a damaged file": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: b.yaml}}}}", "b.yaml": "a: ["},
        "api.yaml:4:14: the reference `b.yaml` cannot be resolved: b.yaml: not YAML: ",
    ),
    "a directory": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: b}}}}", "b/c.yaml": ""},
        "the reference `b` cannot be resolved: there is no file b",
    ),
    "another host": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'https://example.com/a.yaml#/b'}}}}"},
        "https://example.com/a.yaml is on another host: --allow-remote example.com allows it",
    ),
    "a host without encryption": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'http://a.example/b.yaml#/b'}}}}"},
        "http://a.example/b.yaml is not encrypted: change the reference to https, and pass --allow-remote a.example",
    ),
    "a password": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'https://ada:hunter2@example.com/a.yaml'}}}}"},
        "https://example.com/a.yaml contains a user or a password: remove it from the reference",
    ),
    "a metadata service": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'https://169.254.169.254/a.yaml'}}}}"},
        "https://169.254.169.254/a.yaml is a metadata service, which is never read",
    ),
    "a name that is too long": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: {'a' * 5_000}}}}}"},
        "its path cannot be read: ",
    ),
    "characters that no path has": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'a%00b'}}}}"},
        "it is not a path of this machine",
    ),
    "no address": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'http://[::1'}}}}"},
        "it is not a URI",
    ),
    "another scheme": (
        {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'ftp://example.com/a.yaml'}}}}"},
        "it is neither a file beside the document nor a URL of a host that you allow",
    ),
}


@pytest.mark.parametrize(("files", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_reference_without_a_target_is_named_with_its_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, files)

    result = run("api.yaml")

    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stdout == ""


def test_the_rest_can_be_imported(tmp_path: Path) -> None:
    api = write(tmp_path, {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: b.yaml}}, /c: {{get: {{operationId: get_c}}}}}}"})

    result = run(api, "--skip-unresolved", "--report", tmp_path / "report.json")

    assert tables(result)["tools"].keys() == {"get_c"}
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["operations"]["GET /a"]["losses"] == [
        {"kind": "left_out", "detail": "the reference `b.yaml` has no target"}
    ]
    assert report["operations"]["GET /c"]["at"] == f"{api}:4:34"
    assert any("the reference `b.yaml` cannot be resolved" in note for note in report["notes"])


def _outside(reference: str) -> dict[str, str]:
    return {"inner/api.yaml": f"{HEAD}paths: {{/a: {{$ref: '{reference}'}}}}", "path.yaml": "get: {operationId: get_a}"}


@pytest.mark.parametrize(
    "reference",
    [
        "../path.yaml",
        "ABSOLUTE",
        "file://ABSOLUTE",
        "x/../../path.yaml",
        "%2e%2e/path.yaml",
        "link.yaml",
        "linked/path.yaml",
    ],
)
def test_references_stay_in_the_directory_of_the_document(tmp_path: Path, reference: str) -> None:
    api = write(tmp_path, _outside(reference.replace("ABSOLUTE", (tmp_path / "path.yaml").as_posix())))
    (tmp_path / "inner" / "link.yaml").symlink_to(tmp_path / "path.yaml")
    (tmp_path / "inner" / "linked").symlink_to(tmp_path)

    refused = run(api)
    allowed = run(api, "--allow-directory", tmp_path)

    assert refused.exit_code == 1
    assert "is outside the directory of the document; --allow-directory DIR allows it" in refused.stderr
    assert tables(allowed)["tools"].keys() == {"get_a"}


class _Remote(BaseHTTPRequestHandler):
    """Serves parts of a document."""

    texts: ClassVar[dict[str, str]] = {}
    seen: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.seen.append(dict(self.headers))
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        self.send_response(200 if self.path in self.texts else 404)
        self.end_headers()
        self.wfile.write(self.texts.get(self.path, "").encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@pytest.fixture
def host() -> Iterator[str]:
    """Host and port of a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Remote) as server:
        _Remote.texts, _Remote.seen = {}, []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_remote_file_needs_permission_and_is_locked(tmp_path: Path, host: str) -> None:
    api = write(tmp_path, {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'http://{host}/a.yaml'}}}}"})
    _Remote.texts = {"/a.yaml": "get: {operationId: get_a}"}
    output = tmp_path / "pets.toml"

    refused = run(api)
    asked = len(_Remote.seen)
    imported = run(api, "--allow-remote", host, "--header", "X-Key: k", "-o", output)
    record = json.loads((tmp_path / "pets.openapi.json").read_text(encoding="utf-8"))
    _Remote.texts = {"/a.yaml": "get: {operationId: get_b}"}
    changed = run(api, "--allow-remote", host, "-o", output)
    forced = run(api, "--allow-remote", host, "-o", output, "--force")
    accepted = run(api, "--allow-remote", host, "-o", output, "--update-lock")

    assert (refused.exit_code, asked) == (1, 0)
    assert imported.exit_code == 0, imported.stderr
    assert "X-Key" not in _Remote.seen[0]
    assert list(record["remote"]) == [f"http://{host}/a.yaml"]
    assert changed.exit_code == forced.exit_code == 1
    assert "has another content than at the last import; --update-lock accepts it" in changed.stderr
    assert accepted.exit_code == 0, accepted.stderr


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:1/a.yaml", "http://169.254.169.254/", "https://example.com/a.yaml"]
)
def test_a_remote_file_does_not_redirect_to_another_host(tmp_path: Path, host: str, target: str) -> None:
    api = write(tmp_path, {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'http://{host}/to/{target}'}}}}"})

    result = run(api, "--allow-remote", host)

    assert result.exit_code == 1
    assert "redirects to" in result.stderr


def test_a_large_remote_file_is_refused(tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason.importers.openapi.source.MAX_BYTES", 1_000)
    api = write(tmp_path, {"api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'http://{host}/a.yaml'}}}}"})
    _Remote.texts = {"/a.yaml": "get: {operationId: get_a}\n" + "# filler\n" * 200}

    result = run(api, "--allow-remote", host)

    assert result.exit_code == 1
    assert "the document has more than 1,000 bytes" in result.stderr


def test_a_document_at_a_url_has_files_beside_it_with_permission(host: str) -> None:
    _Remote.texts = {
        "/v1/api.yaml": f"{HEAD}paths: {{/a: {{$ref: 'a.yaml'}}, /b: {{$ref: 'file:///etc/hostname'}}}}",
        "/v1/a.yaml": "get: {operationId: get_a}",
    }

    refused = run(f"http://{host}/v1/api.yaml")
    imported = run(f"http://{host}/v1/api.yaml", "--allow-remote", host, "--skip-unresolved", "--header", "X-Key: k")

    assert f"--allow-remote {host} allows it" in refused.stderr
    assert tables(imported)["tools"].keys() == {"get_a"}
    assert [seen.get("X-Key") for seen in _Remote.seen[-2:]] == ["k", "k"]
    assert "`file:///etc/hostname` cannot be resolved: it is neither" in imported.stderr


def test_methods_of_openapi_3_2_are_losses(tmp_path: Path) -> None:
    others = "query: {operationId: query_a}, additionalOperations: {COPY: {operationId: copy_a}}"
    item = f"{{get: {{operationId: get_a}}, {others}}}"
    api = write(tmp_path, {"api.yaml": f"{HEAD.replace('3.1.0', '3.2.0')}paths: {{/a: {item}}}"})

    result = run(api, "--report", tmp_path / "report.json")

    assert tables(result)["tools"].keys() == {"get_a"}
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["operations"]
    assert report["QUERY /a"]["losses"] == [{"kind": "left_out", "detail": "tools do not send QUERY"}]
    assert report["COPY /a"]["losses"] == [{"kind": "left_out", "detail": "tools do not send COPY"}]
