"""Write the npm package `toolmason-schema` to a directory: the translated library, and the files of `src/`.

npm ci --prefix packages/schema-npm
python packages/schema-npm/build.py build/schema-npm
npm pack ./build/schema-npm
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
SOURCE: Final = ROOT / "generator" / "toolmason"
sys.path[:0] = [str(HERE), str(SOURCE.parent)]

from translator import Program, translate  # noqa: E402  the path is set above

TOOLKIT_ONLY: Final = {"projections"}
"""Modules that need the toolkit."""
ROOTS: Final = (
    *(("toolmason.schema.project", "advertise"), ("toolmason.schema.project", "project")),
    *(("toolmason.schema.check", "check"), ("toolmason.schema.report", "report")),
    *(("toolmason.schema.hosts", "hosts"), ("toolmason.targets", "Target")),
)
"""The modules and names that `src/index.js` uses."""
ATTRIBUTES: Final = (
    *("schema", "findings", "renamed", "narrows", "path", "pointer", "pattern", "severity", "lossy", "message"),
    *("reason", "fix", "opens_object", "clients", "providers", "share"),
)
"""The attributes of results that `src/index.js` reads."""
_UNREAD_KEYS: Final = {"source", "file", "max_name", "max_tools", "max_description", "name_pattern"}
"""Keys of tables that no function of the library reads."""
_EMPTY_TABLES: Final[dict[str, Any]] = {"checked": "", "sources": [], "title": ""}
"""Values of which only the existence matters."""
_COLUMNS: Final = ("patterns", "targets", "severity", "reason", "fix")
_MINIFY: Final = ("--module", "--ecma", "2020", "--compress", "passes=3,inline=1,reduce_funcs=false", "--mangle")
"""Options of terser. With `--mangle-props`, it shortens names of attributes, but not those that are keys of data."""


def main() -> None:
    """Write the package to the directory that the command line names, or print the form of a version for npm."""
    if sys.argv[1:2] == ["--version"]:
        sys.stdout.write(f"{npm_version(sys.argv[2])}\n")
        return
    directory = Path(sys.argv[1])
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    terser = HERE / "node_modules" / ".bin" / "terser"
    if not terser.exists():
        sys.exit(f"build.py: terser is missing; run: npm ci --prefix {HERE.relative_to(ROOT)}")
    text, names = bundle()
    properties = f"keep_quoted,reserved=[{','.join(json.dumps(name) for name in names)}]"
    minified = subprocess.run(  # noqa: S603  our own program and options
        [terser, *_MINIFY, "--mangle-props", properties], input=text, capture_output=True, check=True, encoding="utf-8"
    )
    _write(directory / "index.js", minified.stdout)
    for name in ("index.d.ts", "mcp.d.ts", "mcp.js"):
        _write(directory / name, (HERE / "src" / name).read_text(encoding="utf-8"))
    _write(directory / "index.d.ts", _typed_targets((HERE / "src" / "index.d.ts").read_text(encoding="utf-8")))
    _write(directory / "package.json", json.dumps(manifest(), indent=2) + "\n")
    for path in (HERE / "README.md", HERE.parent / "schema" / "LICENSE"):
        shutil.copyfile(path, directory / path.name)


def bundle() -> tuple[str, list[str]]:
    """Return the module before it is minified, and the names of attributes that are keys of tables."""
    program = Program(module_paths())
    runtime, index = ((HERE / "src" / name).read_text(encoding="utf-8") for name in ("runtime.js", "index.js"))
    tables = f"const $tables = {table_literal()};\nconst $data = (name) => $table($tables[name]);"
    text = "\n".join([runtime, translate(program, ROOTS, ATTRIBUTES), tables, index])
    # `let` is shorter, and one statement can declare all variables. No text has `const` at these places.
    return re.sub(r"(^\s*|[{};]\s+|for \()const (?=[\w$[{])", r"\1let ", text, flags=re.MULTILINE), sorted(
        program.table_fields
    )


def module_paths() -> dict[str, Path]:
    """Return the modules of the library by their names."""
    modules: dict[str, Path] = {"toolmason.targets": SOURCE / "targets.py"}
    for path in sorted((SOURCE / "schema").rglob("*.py")):
        if path.stem not in TOOLKIT_ONLY:
            name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
            modules[name.removesuffix(".__init__")] = path
    return modules


def table_literal() -> str:
    """Return the tables of rules as a JavaScript literal for `$tables` of the runtime.

    A rule is a row: its columns, then an object of the other keys. A list of words is one text, which begins with a
    space. Integers over 2^53 are of type bigint.
    """
    paths = sorted((SOURCE / "schema").glob("*.toml"))
    tables = {path.name: _kept(tomllib.loads(path.read_text(encoding="utf-8"))) for path in paths}
    text = json.dumps(tables, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r"(?<=[:,\[])([0-9]{16,})(?=[,}\]])", r"\1n", text)


def _kept(value: Any) -> Any:
    """Return a table without the keys that no function reads, and without dates and lists of sources."""
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if key not in _UNREAD_KEYS or isinstance(part, dict)}
        kept = {key: _EMPTY_TABLES.get(key, part) for key, part in kept.items()}
        return {key: _rows(part) if key in {"rules", "tool_rules"} else _kept(part) for key, part in kept.items()}
    if isinstance(value, list) and value and all(_is_word(part) for part in value):
        return " ".join(["", *value])
    return [_kept(part) for part in value] if isinstance(value, list) else value


def _rows(rules: list[dict[str, Any]]) -> list[list[Any]]:
    """Return rules as rows without empty values at their ends."""
    rows = []
    for rule in rules:
        others = {key: part for key, part in _kept(rule).items() if key not in _COLUMNS}
        row = [_kept(rule.get(key, "")) for key in _COLUMNS]
        row += [others] if others else []
        rows.append(row if row[-1] else row[:-1])
    return rows


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value != "" and " " not in value


def manifest() -> dict[str, Any]:
    """Return the content of the published package.json, with the version of toolmason.

    In a workflow of GitHub it names the repository, which npm compares with the provenance.
    """
    content: dict[str, Any] = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    published = {key: value for key, value in content.items() if key != "devDependencies"}
    published["version"] = npm_version(project["version"])
    if name := os.environ.get("GITHUB_REPOSITORY"):
        url = f"git+{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}.git"
        published["repository"] = {"type": "git", "url": url, "directory": "packages/schema-npm"}
    return published


def npm_version(version: str) -> str:
    """Return a version of Python in the form of npm: `1.2.0rc1` -> `1.2.0-rc.1`."""
    matched = re.fullmatch(r"(\d+\.\d+\.\d+)(?:(a|b|rc|\.dev)(\d+))?", version)
    if matched is None:
        sys.exit(f"build.py: the version `{version}` has no form for npm")
    release, phase, number = matched.groups()
    names = {"a": "alpha", "b": "beta", "rc": "rc", ".dev": "dev"}
    return f"{release}-{names[phase]}.{number}" if phase else release


def _typed_targets(declarations: str) -> str:
    """Return the declarations with the names of all targets."""
    modules = Program(module_paths()).modules
    target, hosts = modules["toolmason.targets"].live.Target, modules["toolmason.schema.hosts"].live.hosts()
    names = " | ".join(json.dumps(str(name)) for name in (*target, *hosts))
    return declarations.replace("export type Target = string;", f"export type Target = {names};")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
