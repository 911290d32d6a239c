"""Rules that hold for every file of the repository: which package may import which, and no file names one machine."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from toolmason.scaffold import lay_out, project_names

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
TOOLKIT = {"toolmason", "toolmason_templates"} | {
    re.split(r"[^\w-]", requirement)[0].replace("-", "_")
    for requirement in EXTRAS["toolkit"]
    if requirement not in [*EXTRAS["http"], *EXTRAS["cli"]]
}
"""Packages that an author of servers installs and that a running server does not have."""
ROOTS = {
    "generator": ("toolmason",),
    "runtime": ("toolmason_runtime",),
    "handlers": ("workbench_handlers", "workbench_research"),
    "generated": ("workbench_server",),
}
"""The source roots with their packages."""
STAGES = (
    *(
        "diagnostics",
        "store",
        "garbage_collection",
        "installation",
        "user_directory",
        "shortcuts",
        "time_limit",
        "project",
        "kinds",
        "manifest",
        "model",
        "clients",
        "targets",
        "pictures",
        "schema",
        "frameworks",
        "resolve",
        "kinds.handler",
        "kinds.command",
        "kinds.http",
        "kinds.upstream",
        "kinds.sql",
        "catalogue",
        "semantic",
        "lint",
        "render",
    ),
    *(
        "write",
        "incremental",
        "pipeline",
        "watch",
        "scaffold",
        "audit",
        "development",
        "diff",
        "importers",
        "evaluation",
    ),
    *("report", "edits", "formatting", "refactor", "publishing", "single_file", "commands", "__main__", "workbench"),
)
"""Packages of the toolkit: each imports only packages before it."""
LAYERS = (
    *("shared", "_lazy", "wire", "calls", "audit", "remote", "discovery", "chunks", "transports", "programs", "apis"),
    *(
        "upstreams",
        "sql",
        "kinds",
        "code_mode",
        "tasks",
        "tool_commands",
        "install",
        "server",
        "boot",
        "serving",
        "toolkit",
        "testing",
    ),
)
"""Packages of the runtime: each imports only packages before it."""
PUBLIC = {"toolmason_runtime"} | {
    f"toolmason_runtime.{name}" for name in ("audit", "install", "programs", "serving", "testing", "tool_commands")
}
"""The modules of the runtime that handlers and generated code may import."""
SHARED = "toolmason_runtime.shared"
"""The package that the toolkit and servers share. It imports no other package of the runtime."""
TOOLKIT_NAMES = "toolmason_runtime.toolkit"
"""The module with everything else of the runtime that the toolkit imports."""
INTERFACES = {"toolmason.kinds", "toolmason.kinds.kind"}
"""Modules that import later packages for type checkers alone, in `if TYPE_CHECKING:`."""
USERS_OF_RESEARCH = {
    "workbench_handlers.doctor.checks",
    "workbench_handlers.doctor.command",
    "workbench_handlers.lifespan",
    "workbench_handlers.research",
    "workbench_handlers.workflows.feature",
}
"""The modules of Workbench that import its research, which is an extra: some of those that the manifest names."""
BINARY = {".png", ".jpg", ".gif", ".wav", ".ico", ".pdf", ".zip"}
OF_ONE_MACHINE = tuple(f"{place}/" for place in (REPOSITORY, Path.home(), Path(sys.prefix)))
"""Paths that exist on this machine only."""


def committed() -> list[Path]:
    """Every file that is committed or that `git add` would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    paths = {REPOSITORY / name for name in listed.stdout.split("\0") if name}
    return sorted(path for path in paths if path.is_file())


FILES = committed()
TEXTS = [path for path in FILES if path.suffix not in BINARY]


@cache
def imported(source: str) -> frozenset[str]:
    """The dotted names that a module imports, lazily or not: modules, names from them, and their attributes.

    A relative import begins with its dots; no module may have one.
    """
    return frozenset(_imported([*ast.walk(ast.parse(source))]))


def _imported(nodes: list[ast.AST]) -> Iterator[str]:
    bound: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
                bound |= {
                    alias.asname or top(alias.name): alias.name if alias.asname else top(alias.name)
                    for alias in node.names
                }
            case ast.ImportFrom():
                yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)
            case ast.Call():
                if dotted(node.func).endswith(("import_module", "__import__")):
                    values = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "name")]
                    yield from (str(value.value) for value in values if isinstance(value, ast.Constant))
    for node in nodes:
        if isinstance(node, ast.Attribute):
            first, _, rest = dotted(node).partition(".")
            if first in bound:
                yield f"{bound[first]}.{rest}"


def dotted(node: ast.expr) -> str:
    """The text of `a`, `a.b` and so on; of another expression, the names after it."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *names])


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import a.b", "a.b"),
        ("import a.b as c\nc.d()", "a.b.d"),
        ("import a\na.b.c", "a.b.c"),
        ("import a.x\ndef f():\n    return a.b", "a.b"),
        ("from a import b", "a.b"),
        ("from .commands import x", ".commands.x"),
        ("from .. import x", "...x"),
        ("from importlib import import_module\nimport_module('a.b')", "a.b"),
        ("from importlib import import_module\nimport_module(name='a.b', package=None)", "a.b"),
        ("import importlib\nimportlib.import_module(name='a.b')", "a.b"),
        ("__import__(name='a.b')", "a.b"),
    ],
)
def test_each_form_of_an_import_is_recognised(source: str, name: str) -> None:
    assert name in imported(source)


@pytest.mark.parametrize("root", ["generator", "runtime", "handlers", "generated", "templates"])
def test_no_import_is_relative(root: str) -> None:
    found = {(path, name) for path, source in sources(root).items() for name in imported(source) if name[0] == "."}
    assert found == set()


def sources(root: str) -> dict[str, str]:
    """The text of each Python file in a directory."""
    paths = [path for path in FILES if path.suffix == ".py" and path.is_relative_to(REPOSITORY / root)]
    assert paths
    return {path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def modules(root: str) -> dict[str, set[str]]:
    """Each module of a source root with the modules of the same root that it imports."""
    texts = {
        path.removeprefix(f"{root}/").removesuffix(".py").removesuffix("/__init__").replace("/", "."): text
        for path, text in sources(root).items()
    }
    return {
        name: {found for used in imported(text) if (found := _module(used, texts)) and found != name}
        for name, text in texts.items()
        if name not in INTERFACES
    } | {name: set() for name in INTERFACES & texts.keys()}


def _module(name: str, known: dict[str, str]) -> str:
    """Return the module that the dotted `name` is, or that it is a name of; empty if there is none in `known`."""
    return name if name in known else parent if (parent := name.rpartition(".")[0]) in known else ""


def packages(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph of modules as one of the packages directly below those of the top; these are empty."""
    result: dict[str, set[str]] = {}
    for name, used in graph.items():
        package = _package(name)
        result.setdefault(package, set()).update(_package(other) for other in used)
        result[package].discard(package)
    return result


def _package(module: str) -> str:
    """Return the package below the top that has a module. Each kind of tools counts as one: `toolmason.kinds.http`."""
    names = module.split(".")
    is_kind = names[1:2] == ["kinds"] and (REPOSITORY / "generator" / "/".join(names[:3])).is_dir()
    return ".".join(names[: 3 if is_kind else 2]) if len(names) > 1 else ""


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Nodes that import each other, directly or through others; empty if there are none."""
    remaining = {name: set(used) for name, used in graph.items()}
    while leaves := [name for name, used in remaining.items() if not used & remaining.keys()]:
        for name in leaves:
            del remaining[name]
    return sorted(remaining)


@pytest.mark.parametrize("name", sorted(INTERFACES))
def test_an_interface_imports_the_toolkit_for_type_checkers_alone(name: str) -> None:
    path = REPOSITORY / "generator" / name.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]

    assert [found for found in imported(ast.unparse(tree)) if top(found) in TOOLKIT] == []


@pytest.mark.parametrize("root", ROOTS)
def test_no_module_imports_itself_through_others(root: str) -> None:
    assert cycle(modules(root)) == []


@pytest.mark.parametrize("root", ["generator", "runtime", "handlers"])
def test_no_package_imports_itself_through_others(root: str) -> None:
    graph = packages(modules(root))
    graph.pop("", None)  # A top package exports names of the others lazily.
    assert cycle(graph) == []


@pytest.mark.parametrize(("root", "order"), [("generator", STAGES), ("runtime", LAYERS)])
def test_packages_import_only_earlier_ones(root: str, order: tuple[str, ...]) -> None:
    graph = packages(modules(root))
    top_package, *_ = ROOTS[root]
    order = tuple(f"{top_package}.{name}" for name in order)
    assert set(graph) - {""} == set(order)
    later = {(name, used) for name in order for used in graph[name] - {""} if order.index(used) > order.index(name)}
    assert later == set()


def test_only_modules_that_the_manifest_names_import_the_research_of_workbench() -> None:
    graph = modules("handlers")
    importing = {name for name, used in graph.items() if any(top(other) == "workbench_research" for other in used)}
    manifest = (REPOSITORY / "manifest" / "workbench.toml").read_text(encoding="utf-8")
    named = re.findall(r'^(?:handler|lifespan|startup_check) = "([\w.]+):\w+"$', manifest, re.MULTILINE)

    assert {name for name in importing if top(name) != "workbench_research"} == USERS_OF_RESEARCH
    assert {f"workbench_handlers.{module}" for module in named} >= USERS_OF_RESEARCH


@pytest.mark.parametrize("root", ["handlers", "generated"])
def test_a_server_imports_only_public_modules_of_the_runtime(root: str) -> None:
    public = {
        name: re.findall(r"import \w+ as (\w+)", (REPOSITORY / "runtime" / _file(name)).read_text("utf-8"))
        for name in PUBLIC
    }
    public["toolmason_runtime.boot"] = ["Opened", "open_session"]
    private = {
        (path, name)
        for path, source in sources(root).items()
        for name in imported(source)
        if name.startswith("toolmason_runtime.")
        if name not in PUBLIC and name.rpartition(".")[2] not in public.get(name.rpartition(".")[0], [])
    }
    assert private == set()


def test_the_toolkit_imports_only_modules_that_it_shares_with_servers() -> None:
    found = {
        (path, name)
        for path, source in sources("generator").items()
        for name in imported(source)
        if name.startswith("toolmason_runtime.")
        if not name.startswith((f"{SHARED}.", f"{TOOLKIT_NAMES}."))
    }
    assert found == set()


def _file(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (REPOSITORY / "runtime" / path).is_dir() else f"{path}.py"


@pytest.mark.parametrize("root", ["runtime", "handlers", "generated", "templates"])
def test_a_server_imports_no_package_of_the_toolkit(root: str) -> None:
    found = {
        (path, name) for path, source in sources(root).items() for name in imported(source) if top(name) in TOOLKIT
    }
    assert found == set()


def test_the_toolkit_and_the_runtime_import_no_server() -> None:
    found = {
        (path, name)
        for root in ("generator", "runtime")
        for path, source in sources(root).items()
        for name in imported(source)
        if top(name) in {"workbench_handlers", "workbench_research", "workbench_server"}
    }
    assert found == set()


@pytest.mark.parametrize(
    ("texts", "package"),
    [
        (sources("handlers"), "workbench_server"),
        ({path: text for path, text in lay_out(project_names("notes")).items() if text}, "notes_server"),
    ],
    ids=["ours", "new project"],
)
def test_handlers_import_only_models_and_options_of_the_generated_package(texts: dict[str, str], package: str) -> None:
    used = {
        name
        for path, text in texts.items()
        if path.startswith("handlers/") and path.endswith(".py")
        for name in imported(text)
        if top(name) == package
    }
    assert used
    assert {name for name in used if not re.match(rf"{package}\.(\w+\.models|options|types)\b", name)} == set()


def test_only_generator_tests_bench_and_docs_import_the_toolkit() -> None:
    importing = {
        path.partition("/")[0]
        for path, source in sources(".").items()
        if "tests/golden/" not in path and any(top(name) == "toolmason" for name in imported(source))
    }
    assert importing == {"generator", "tests", "bench", "docs"}


def test_the_architecture_has_at_most_60_lines() -> None:
    assert len((REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_each_file_that_the_architecture_says_to_change_exists() -> None:
    _, _, recipes = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## How to add something\n")
    names = [name for name in re.findall(r"`([^`\s]+)`", recipes) if "/" in name]
    assert len(names) > 20
    assert [name for name in names if not (REPOSITORY / name).exists()] == []


def top(name: str) -> str:
    return name.partition(".")[0]


def test_no_file_names_a_place_on_one_machine() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {place}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        for place in OF_ONE_MACHINE
        if place in line
    ]
    assert found == []


@pytest.mark.parametrize("directory", [".", "converters"])
def test_the_lock_of_npm_packages_names_no_address_to_fetch_them_from(directory: str) -> None:
    lock = REPOSITORY / "tests" / directory / "package-lock.json"
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]

    assert len(packages) > 1
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_every_text_ends_with_one_line_feed_and_has_no_carriage_return() -> None:
    # The manifests of golden cases are what people get wrong, and the inputs of fuzzed parsers are hostile.
    wrong = [
        str(path.relative_to(REPOSITORY))
        for path in TEXTS
        if not path.match("tests/golden/*/manifest.toml")
        if not path.match("tests/fuzz/corpus/*/*")
        for data in (path.read_bytes(),)
        if b"\r" in data or (data and (not data.endswith(b"\n") or data.endswith(b"\n\n")))
    ]
    assert wrong == []


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring in a module, those after constants and fields included."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text), lineno=line)):
                yield line, inspect.cleandoc(text)


def bare_identifiers(docstring: str) -> list[str]:
    """Identifiers in the sentences of a docstring that are not in backticks: `snake_case` and `call()`.

    Code (indented, or with a prompt), quotations, addresses, names of constants and the names before texts in `Args:`
    are skipped.
    """
    prose = re.sub(r"``.+?``|`[^`]*`", "``", docstring, flags=re.DOTALL)
    prose = re.sub(r"https?://\S+|\"[^\"\n]*\"", "", prose)
    found: list[str] = []
    in_section = False
    for line in prose.splitlines():
        if line and not line.startswith(" "):
            in_section = re.fullmatch(r"(Args|Attributes|Raises|Returns|Yields):", line) is not None
        if line.startswith(">>>") or (line.startswith(" ") and not in_section):
            continue
        text = re.sub(r"^ +\*{0,2}[\w.]+:", "", line)
        found += [name for name in re.findall(r"\b[A-Za-z]\w*_\w+|\b[A-Za-z_]\w*\(\)", text) if name != name.upper()]
    return found


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("Return the seconds after an attempt, count_by_severity from 0.", ["count_by_severity"]),
        ("One run_attempt: start the program.", ["run_attempt"]),
        ("Call close() at the end.", ["close()"]),
        ("Return it.\n\nArgs:\n    key: one of other_keys.\n", ["other_keys"]),
        ("Return `a_b`, the value of `close()`, or of `a\nb_c`.", []),
        ("Return it.\n\nArgs:\n    max_bytes: its size.\n    **more_names: others.\n", []),
        ("An example:\n\n    value = some_call()\n", []),
        ("Text.\n\n>>> some_call()", []),
        ('See https://example.com/a_b, or "a_b".', []),
        ("GH_TOKEN or NOT_FOUND.", []),
        ("Any text (in parentheses), f(x) and __all__ of x-y.", []),
    ],
)
def test_an_identifier_without_backticks_is_recognised(docstring: str, found: list[str]) -> None:
    assert bare_identifiers(docstring) == found


def test_identifiers_in_docstrings_have_backticks() -> None:
    # Docstrings in generated/ are texts of the manifest.
    found = [
        f"{path}:{line}: {name}"
        for path, source in sources(".").items()
        if not path.startswith("generated/") and "tests/golden/" not in path
        for line, text in docstrings(source)
        for name in bare_identifiers(text)
    ]
    assert found == []
