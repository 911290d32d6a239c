"""`toolmason.schema` needs only `toolmason.targets` and the standard library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "generator" / "toolmason"
PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
from toolmason.schema import Target, advertise, check, project

tree = {"type": "object", "properties": {"next": {"$ref": "#"}, "id": {"type": "string", "format": "uuid"}}}
rule = {"if": {"$ref": "#/properties/a"}, "not": {"const": 1}, "pattern": "^(?=a)b$", "uniqueItems": True}
for schema in (tree, {"properties": {"a": rule}}, True, None, 3, {"properties": {"a": {"$ref": "other.json"}}}):
    for target in Target:
        project(schema, target), check(schema, target)
assert advertise(tree).schema["type"] == "object"
foreign = {name for name in sys.modules if name.partition(".")[0] not in {*sys.stdlib_module_names, "__main__"}}
print(*sorted(name for name in foreign if not name.startswith("toolmason.schema.")))
"""


def test_the_package_alone_needs_only_the_standard_library(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE / "schema", tmp_path / "toolmason" / "schema")
    for module in ("__init__.py", "targets.py"):
        shutil.copy(PACKAGE / module, tmp_path / "toolmason")
    # Without site packages and the environment of the tests.
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    assert (ran.stdout, ran.stderr) == ("toolmason toolmason.schema toolmason.targets\n", "")
