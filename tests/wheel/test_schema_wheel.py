"""The wheel `toolmason-schema` alone in a fresh environment: one package, the standard library, the same results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fresh_environment import Environment, build_wheel

from toolmason.schema import Target, advertise, check, project

REPOSITORY = Path(__file__).parents[2]
SCHEMAS: list[Any] = [
    {"type": "object", "properties": {"next": {"$ref": "#"}, "id": {"type": "string", "format": "uuid"}}},
    {"properties": {"a": {"if": {"const": 1}, "not": {"const": 2}, "pattern": "^(?=a)b$", "uniqueItems": True}}},
    {"type": "object", "properties": {"a": {"type": "array", "enum": ["b"]}}, "additionalProperties": False},
    True,
    None,
]
PROGRAM = """\
import json, sys
from importlib.metadata import distributions
before = set(sys.modules)
from toolmason_schema import Target, advertise, check, project, report
schemas = json.loads(sys.argv[1])
results = [[project(schema, target).schema for target in Target] for schema in schemas]
counts = [[len(check(schema, target)) for target in Target] for schema in schemas]
text = report({"a": schemas[0]})
imported = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps({
    "packages": sorted({each.name for each in distributions()} - {"pip", "setuptools"}),
    "foreign": sorted(imported - set(sys.stdlib_module_names)),
    "results": results, "counts": counts, "advertised": advertise(schemas[0]).schema, "report": text,
}))
"""


@pytest.fixture(scope="module")
def schema_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(REPOSITORY / "packages" / "schema", tmp_path_factory.mktemp("dist"))


def test_exactly_one_package_is_installed_and_imports_nothing_else(schema_wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "fresh")
    environment.install(schema_wheel)
    ran = environment.run("python", "-I", "-c", PROGRAM, json.dumps(SCHEMAS))
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)

    assert found["packages"] == ["toolmason-schema"]
    assert found["foreign"] == ["toolmason_schema"]
    assert found["results"] == [[project(schema, target).schema for target in Target] for schema in SCHEMAS]
    assert found["counts"] == [[len(check(schema, target)) for target in Target] for schema in SCHEMAS]
    assert found["advertised"] == advertise(SCHEMAS[0]).schema
    assert "recursive-$ref" in found["report"]


def test_the_wheel_is_typed_and_has_the_licence(schema_wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "fresh")
    environment.install(schema_wheel)
    (package,) = environment.directory.rglob("toolmason_schema")

    texts = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    assert len(texts) > 30
    assert not [text for text in texts if "toolmason.schema" in text or "toolmason.targets" in text]
    assert (package / "py.typed").is_file()
    assert not (package / "projections.py").exists()
    assert (REPOSITORY / "packages/schema/LICENSE").read_text("utf-8") == (REPOSITORY / "LICENSE").read_text("utf-8")
