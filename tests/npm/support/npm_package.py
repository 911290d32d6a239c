"""Build the npm package, call it in a process of Node.js, and compute what the Python package returns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from toolmason.schema import Projection, Target, check, project
from toolmason.schema.hosts import hosts

ROOT: Final = Path(__file__).parents[3]
SOURCE: Final = ROOT / "packages" / "schema-npm"
TARGETS: Final = (*map(str, Target), *hosts())


def build_tarball(directory: Path) -> Path:
    """Build the package as a release does, and pack it; `TOOLMASON_NPM_TARBALL` is one that the session has built."""
    if path := os.environ.get("TOOLMASON_NPM_TARBALL"):
        return Path(shutil.copy(path, directory))
    built = directory / "package"
    subprocess.run([sys.executable, SOURCE / "build.py", built], check=True)
    packed = subprocess.run(["npm", "pack", built], cwd=directory, check=True, capture_output=True, encoding="utf-8")
    return directory / packed.stdout.strip()


def unpack(tarball: Path) -> Path:
    """Unpack a tarball beside it, and return the directory of the package."""
    directory = tarball.parent / "unpacked"
    with tarfile.open(tarball) as archive:
        archive.extractall(directory, filter="data")
    return directory / "package"


class NodeLibrary:
    """The package in a process of Node.js, which answers one request a line."""

    def __init__(self, package: Path) -> None:
        command = ["node", str(Path(__file__).with_name("serve.mjs")), str(package / "index.js")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def call(self, function: str, *arguments: Any) -> Any:
        """Return the result of a function, or raise RuntimeError with the message of its error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps([function, *arguments])}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]


def as_json_parse(value: Any) -> Any:
    """Return a JSON value as JavaScript reads it: integer-like names first, and every number a double."""
    if isinstance(value, dict):
        members = {name: as_json_parse(part) for name, part in value.items()}
        return {name: members[name] for name in (*sorted(filter(_is_index, members), key=int), *members)}
    if isinstance(value, list):
        return [as_json_parse(part) for part in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        return int(number) if number.is_integer() and abs(number) < 1e21 else number
    return value


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdecimal() and str(int(name)) == name and int(name) < 2**32 - 1


def expected(schema: Any, target: str) -> Any:
    """Return the projection and the findings of the Python package, as `pair` of serve.mjs returns them."""
    return as_json_parse(
        [_projection(project(schema, target)), [_finding(finding) for finding in check(schema, target)]]
    )


def _projection(projection: Projection) -> dict[str, Any]:
    findings = [_finding(finding) for finding in projection.findings]
    renamed, narrows = dict(projection.renamed), projection.narrows
    return {"schema": projection.schema, "findings": findings, "renamed": renamed, "narrows": narrows}


def _finding(finding: Any) -> dict[str, Any]:
    names = ("path", "pointer", "pattern", "severity", "lossy", "message", "reason", "fix")
    values = {name: getattr(finding, name) for name in names} | {"opensObject": finding.opens_object}
    lists = {"clients": list(finding.clients), "providers": list(finding.providers)}
    return values | lists | {"share": finding.share}
