"""What names, types and references of a manifest come to, where a golden case cannot show it."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath

import pytest

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.model.identifiers import RESERVED_MODEL_NAMES, is_type_name
from toolmason.model.server import Server
from toolmason.render.pydantic_models import models, schemas
from toolmason.resolve import resolve

HEAD = """
edition = 1
[server]
name = "catalog"
package = "catalog_server"
handlers = "catalog"
"""
REST = """
[categories.books]
summary = "Find and lend books"
[tools.{name}]
summary = "Search the catalog"
category = "books"
hints = {{ read_only = true, destructive = false, idempotent = true, open_world = false }}
handler = "books:search"
"""


def resolved(text: str, handlers: Path | None = None) -> tuple[Server | None, list[str]]:
    """Give the server, and each finding as its code and message."""
    diagnostics = Diagnostics()
    document = Document(path=PurePosixPath("manifest.toml"), text=text, data=tomllib.loads(text))
    tables = validate(document, diagnostics=diagnostics)
    server = resolve(tables, document, root=Path(), diagnostics=diagnostics, handlers=handlers) if tables else None
    return server, [f"{each.code} {each.message}" for each in diagnostics]


def manifest(tool: str = "", *, name: str = "find", server: str = "") -> str:
    return HEAD + server + REST.format(name=name) + tool


def codes(text: str, handlers: Path | None = None) -> list[str]:
    return [each.split()[0] for each in resolved(text, handlers)[1]]


@pytest.mark.parametrize("name", ["Book", "FileRequest", "HTTPServer", "X2", "T", "Exception", "Date"])
def test_a_type_name_is_one_that_its_class_keeps(name: str) -> None:
    assert is_type_name(name)
    server, found = resolved(manifest(f'returns = "{name}"\n[types.{name}]\nfields.a = {{ type = "string" }}\n'))
    assert server, found
    assert f"class {name}(Model):" in models(schemas(server.categories[0], server.package))


@pytest.mark.parametrize(
    "name", ["file_result", "date", "_Private", "aB", "A_b", "None", "True", *sorted(RESERVED_MODEL_NAMES)]
)
def test_a_type_name_that_generated_code_changes_or_needs_is_refused(name: str) -> None:
    assert codes(manifest(f'[types.{name}]\nfields.a = {{ type = "string" }}\n')) == ["TM303"]


@pytest.mark.parametrize("name", ["none", "true", "false", "read_2x", "final", "mapping", "binding"])
def test_the_parameters_of_a_tool_are_the_class_that_its_models_hold(name: str) -> None:
    server, found = resolved(manifest('params.a = { type = "string" }\n', name=name))
    assert server, found
    assert f"class {server.tools[0].params_class}(Model):" in models(schemas(server.categories[0], server.package))


@pytest.mark.parametrize("name", ["bindings", "protocol", "tool_call", "content", "reply", "any"])
def test_a_tool_named_like_something_its_modules_import_is_refused(name: str) -> None:
    assert codes(manifest(name=name)) == ["TM317"]


def test_a_whole_float_as_default_of_an_integer_becomes_one() -> None:
    text = 'params.a = { type = "integer", default = 1.0 }\nparams.b = { type = "integer[]", default = [2.0] }\n'
    server, found = resolved(manifest(text))
    assert server, found
    assert repr([each.default for each in server.tools[0].params]) == "[1, [2]]"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('type = "string", pattern = "^(?:a|b)(?=c)(?!d)$"', []),
        ('type = "string", pattern = "[(?P<]"', []),
        ('type = "string", pattern = "[[a]"', []),
        ("type = 'string', pattern = '\\\\A'", []),
        ("type = 'string', pattern = '\\A'", ["TM319"]),
        ("type = 'string', pattern = '(?<n>x)'", ["TM319"]),
        ("type = 'string', pattern = 'a{99999999999999}'", ["TM319"]),
        (f"type = 'string', pattern = '{'(' * 5000}{')' * 5000}'", ["TM319"]),
        ('type = "integer", enum = [1, 2]', []),
        ('type = "number", enum = [1, 2]', ["TM308"]),
    ],
)
def test_constraints_are_those_that_clients_and_the_server_both_keep(value: str, expected: list[str]) -> None:
    assert codes(manifest(f"params.a = {{ {value} }}\n")) == expected


def chain(types: int, fields: int, *, last: str = "string") -> str:
    """Give `types` types, each with so many fields of the next one."""
    nested = [(f"T{level}", f"T{level + 1}") for level in range(types - 1)] + [(f"T{types - 1}", last)]
    return "".join(
        f"[types.{name}]\n" + "".join(f'fields.f{each} = {{ type = "{inner}" }}\n' for each in range(fields))
        for name, inner in nested
    )


@pytest.mark.parametrize("use", ['params.a = { type = "T0" }\n', 'returns = "T0"\n'])
@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (chain(8, 1), []),
        (chain(9, 1), ["TM321"]),
        (chain(300, 1), ["TM321"]),
        (chain(25, 2), ["TM321"]),
        (chain(8, 3), []),
        (chain(8, 4), ["TM321"]),
    ],
    ids=["eight", "nine", "very deep", "very wide", "much", "too much"],
)
def test_types_are_written_out_up_to_a_size(use: str, types: str, expected: list[str]) -> None:
    assert codes(manifest(use + types)) == expected


COLORS = '[types.Color]\nenum = ["red", "in"]\n'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('type = "Color", default = "in"', []),
        ('type = "Color", default = "blue"', ["TM309"]),
        ('type = "Color", default = {}', ["TM309"]),
        ('type = "Color[]", default = ["red", "in"], min_items = 1', []),
        ('type = "Color[]", default = ["blue"]', ["TM309"]),
        ('type = "map<Color>", default = {}', []),
        ('type = "map<Color>", default = { a = "red" }', ["TM309"]),
        ('type = "Color[][]", default = [["red"]]', ["TM309"]),
        ('type = "Color", enum = ["red"]', ["TM308"]),
        ('type = "Color", nullable = true', []),
    ],
)
def test_defaults_of_enumerations_are_their_values(value: str, expected: list[str]) -> None:
    assert codes(manifest(f"params.a = {{ {value} }}\n{COLORS}")) == expected


def test_a_recursive_type_may_be_a_result_and_a_parameter_up_to_a_size() -> None:
    types = chain(3, 1, last="T0[]")
    assert codes(manifest('returns = "T0"\n' + types)) == []
    assert codes(manifest('params.a = { type = "T0" }\n' + types)) == []
    assert codes(manifest('params.a = { type = "T0" }\n' + chain(3, 1, last="map<T0>"))) == ["TM307"]
    assert codes(manifest('returns = "T0"\n' + chain(8, 4, last="T0[]"))) == ["TM321"]


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ('[server.options.some_dir]\ndescription = "Where"\n', []),
        ('[server.options.port]\ndescription = "Which"\n', ["TM317"]),
        ('[server.options."a b"]\ndescription = "Which"\n', ["TM206"]),
        ('lifespan = "state.inner:open_it"\n', []),
        ('lifespan = "state..inner:open_it"\n', ["TM206"]),
        ('lifespan = "state:class"\n', ["TM206"]),
        ('guard = "guarding:check"\n', []),
        ('pass_env = ["API_KEY"]\n', []),
        ('pass_env = ["API KEY"]\n', ["TM206"]),
        ('[server.subcommands.init]\nsummary = "Set up"\nhandler = "setup:main"\n', []),
        ('[server.subcommands.init]\nsummary = "Set up"\nhandler = "setup:class"\n', ["TM206"]),
        ('[server.subcommands.init]\nsummary = "Set\\nup"\nhandler = "setup:main"\n', ["TM210"]),
        ('[server.subcommands."a b"]\nsummary = "Set up"\nhandler = "setup:main"\n', ["TM206"]),
        ('[server.subcommands.serve]\nsummary = "Serve"\nhandler = "setup:main"\n', ["TM317"]),
        ('[server.subcommands.install]\nsummary = "Install"\nhandler = "setup:main"\n', ["TM317"]),
        ('guard = "guarding:class"\n', ["TM206"]),
        ('[discovery]\nprefix = "lib_"\n', []),
        (f'[discovery]\nprefix = "{"lib_" * 11}"\n', ["TM311"]),
        ('[discovery]\npinned = ["find"]\n', []),
        ('[discovery]\npinned = ["find", "find"]\n', ["TM322"]),
        ('[discovery]\npinned = ["seek"]\n', []),
        ('[discovery]\npinned = ["find", "seek"]\n', ["TM322"]),
        ('[discovery.pins]\nsearch-call = ["seek", "fetch_chunk"]\nlist-describe = []\n', []),
        ('[discovery.pins]\ndiscover-schema = ["seek", "find"]\nlist-describe = ["fin"]\n', ["TM305", "TM322"]),
        ('[discovery.pins]\nclassic = ["find"]\n', ["TM203"]),
        ('[discovery.pins]\nsearch-call = "find"\n', ["TM204"]),
        ('[outputs]\ncommand_prefix_env = "MY PREFIX"\n', ["TM206"]),
    ],
)
def test_settings_of_the_server_are_such_as_it_can_carry_out(server: str, expected: list[str]) -> None:
    assert sorted(codes(manifest('aliases = ["seek"]\n', server=server))) == expected


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ('command_prefix = "Lib_"\nworkflow_prefix = "lib-"\n', []),
        ('command_prefix = "cat-"\n', ["TM306 prompt `cat-look` has the name of a command"]),
        ('workflow_prefix = "cata"\n', ["TM317 workflow `catalog` has the name of the server's own skill"]),
        ('command_prefix = "my lib-"\n', ["TM346 `my lib-look` cannot name a command"]),
        (f'command_prefix = "{"a" * 61}"\n', [f"TM346 `{'a' * 61}look` cannot name a command"]),
        ('command_prefix = ".lib-"\n', ["TM346 `command_prefix`: the prefix `.lib-` starts with `.`"]),
        ('workflow_prefix = "lib_"\n', ["TM346 `lib_log` cannot name a workflow"]),
    ],
)
def test_names_are_valid_and_unique_with_their_prefix(outputs: str, expected: list[str]) -> None:
    surfaces = """
[commands.look]
summary = "Look at the catalog"
prompt = "Look."
[prompts.cat-look]
summary = "Look at the cat"
text = "Look."
[workflows.log]
summary = "Write a log"
steps = [{ title = "Write", text = "Write." }]
"""
    _, found = resolved(manifest(server=f"[outputs]\n{outputs}") + surfaces)

    pairs = list(zip(found, expected, strict=True))
    assert all(finding.startswith(start) for finding, start in pairs)


@pytest.mark.parametrize(
    ("package", "handlers", "expected"),
    [
        ("catalog_server", "catalog.tools", []),
        ("catalog", "catalog.tools", ["TM317"]),
        ("pydantic", "catalog", ["TM317"]),
        ("skills", "catalog", ["TM317"]),
        ("toolmason_runtime", "catalog", ["TM317"]),
        ("catalog_server", "models", ["TM317"]),
        ("catalog_server", "mcp", ["TM317"]),
        ("import", "catalog", ["TM206"]),
        ("catalog_server", "catalog..tools", ["TM206"]),
        ("catalog_server", "catalog.2", ["TM206"]),
    ],
)
def test_packages_can_be_imported_beside_all_others(package: str, handlers: str, expected: list[str]) -> None:
    text = (
        manifest()
        .replace('"catalog_server"', f'"{package}"')
        .replace('handlers = "catalog"', f'handlers = "{handlers}"')
    )
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"async def search(params, call): ...\n", ""),
        (b"\xef\xbb\xbfasync def search(params, call): ...\n", ""),
        (b"# coding: latin-1\nname = '\xe9'\nfrom a import search\n", ""),
        (b"if 1:\n    try:\n        def search(): ...\n    except OSError:\n        pass\n", ""),
        (b"a, (search, *b) = 1, (2, 3)\n", ""),
        (b"from a import *\n", ""),
        (b"import search.inner\n", ""),
        (b"def f():\n    def search(): ...\n", "TM312 no function `search` in `catalog.books`"),
        (b"x = [search for search in ()]\n", "TM312 no function `search` in `catalog.books`"),
        (b"x = 1\ndef f(:\n", "TM312 module `catalog.books` cannot be read: books.py: line 2: invalid syntax"),
    ],
)
def test_a_handler_is_found_wherever_its_module_defines_it(tmp_path: Path, source: bytes, message: str) -> None:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "books.py").write_bytes(source)
    assert resolved(manifest(), tmp_path)[1] == ([message] if message else [])


def test_a_handler_module_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "books.py").write_text("x = " + "-" * 100_000 + "1\n", encoding="utf-8")
    assert codes(manifest(), tmp_path) == ["TM312"]


@pytest.mark.parametrize("key", ["lifespan", "guard", "startup_check"])
def test_a_function_of_the_server_is_looked_up_like_a_handler(tmp_path: Path, key: str) -> None:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "books.py").write_text("def search(): ...\ndef opened(): ...\n", encoding="utf-8")
    assert codes(manifest(server=f'{key} = "books:opened"\n'), tmp_path) == []
    assert codes(manifest(server=f'{key} = "books:closed"\n'), tmp_path) == ["TM312"]


def test_a_subcommand_is_looked_up_like_a_handler(tmp_path: Path) -> None:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "books.py").write_text("def search(): ...\ndef opened(): ...\n", encoding="utf-8")
    table = '[server.subcommands.open]\nsummary = "Open"\nhandler = "books:{}"\n'
    assert codes(manifest(server=table.format("opened")), tmp_path) == []
    assert codes(manifest(server=table.format("closed")), tmp_path) == ["TM312"]


@pytest.mark.parametrize(
    ("schema", "is_needed"),
    [
        ("additionalProperties = false", False),
        ('properties.a = { type = "object", properties.b.type = "string", additionalProperties = false }', False),
        ('properties.a = { type = "object", additionalProperties = false }', True),
        ('properties.a = { type = "integer", multipleOf = 2 }', True),
        ('properties.a = { type = "object", patternProperties."^b" = {}, additionalProperties = false }', True),
    ],
)
def test_search_answers_need_the_whole_schema_unless_only_names_are_closed(schema: str, *, is_needed: bool) -> None:
    server, found = resolved(manifest(f'[tools.find.input_schema]\ntype = "object"\n{schema}\n'))

    assert server, found
    assert (server.categories[0].tools[0].complete_schema is not None) is is_needed
