"""Manifests that are nested, long or wrong without measure: a diagnostic in little time, and no traceback."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable

import pytest
from click.testing import CliRunner, Result
from toolmason_runtime.shared.suggestions import closest_match, limited_suggestions

from toolmason.commands import toolmason
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.project import Project

CPU_S = 20.0
"""Bound of the processor time of one run, ten times the usual one. The inputs took minutes, or raised an error."""

HEAD = """
edition = 1
[server]
name = "notes"
package = "notes_server"
handlers = "notes"
[categories.text]
summary = "Texts"
"""
TOOL = """
[tools.count_words]
summary = "Count the words of a text"
description = "Count the words of a text."
category = "text"
handler = "text:count_words"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
"""


def typed(expression: str) -> str:
    return f'{HEAD}{TOOL}params.a = {{ type = "{expression}", description = "A" }}\n'


def valued(key: str, value: str) -> str:
    return f'{HEAD}{TOOL}params.a = {{ type = "object", description = "A", {key} = {value} }}\n'


def keys(number: int, key: str = "key") -> str:
    return "".join(f"{key}_{index} = 1\n" for index in range(number))


def choices(number: int) -> str:
    return "[" + ",".join(f'"v{index}"' for index in range(number)) + "]"


def tools(number: int) -> str:
    row = '[tools.t{0}]\nsummary = "S"\ncategory = "txt{0}"\nhandler = "text:f{0}"\n'
    return "".join(row.format(index) for index in range(number))


MEGABYTE = "x" * 1_000_000
MANIFESTS = {
    **{f"{depth} lists": (typed("string" + "[]" * depth), "TM303") for depth in (9, 500, 1_000, 100_000)},
    **{f"{depth} maps": (typed("map<" * depth + "string" + ">" * depth), "TM303") for depth in (500, 1_000, 100_000)},
    "open maps": (typed("map<" * 100_000), "TM303"),
    "lists of Python": (typed("list[" * 1_000 + "str" + "]" * 1_000), "TM303"),
    "many lists of Python": (typed("list[" * 100_000 + "str" + "]" * 100_000), "TM303"),
    "maps of Python": (typed("dict[str," * 50_000 + "str" + "]" * 50_000), "TM303"),
    "optional": (typed("Optional[" * 50_000 + "str" + "]" * 50_000), "TM303"),
    "question marks": (typed("string" + "?" * 100_000), "TM303"),
    "unions of unions": (typed("Union[" * 10_000 + "int" + "]" * 10_000), "TM303"),
    "a long union": (typed("string | " * 100_000 + "string"), "TM303"),
    "brackets": (typed("[" * 100_000), "TM303"),
    "a type in arrays": (f"{HEAD}{TOOL}params.a = {{ type = {'[' * 900}{']' * 900} }}\n", "TM204"),
    "a result of lists": (f'{HEAD}{TOOL}returns = "Note{"[]" * 1_000}"\n', "TM3"),
    "a result of many lists": (f'{HEAD}{TOOL}returns = "Note{"[]" * 100_000}"\n', "TM3"),
    "deep arrays": (valued("default", "[" * 10_000 + "]" * 10_000), "TM106"),
    "deep tables": (valued("default", "{a=" * 10_000 + "1" + "}" * 10_000), "TM106"),
    "a deep default": (valued("default", "{a=" * 300 + "1" + "}" * 300), "TM214"),
    "a deep example": (
        f"{HEAD}{TOOL}examples = [{{ description = 'A', arguments = {{ a = {'[' * 300}{']' * 300} }} }}]\n",
        "TM214",
    ),
    "deep fields": (f"{HEAD}[types.T]\nfields = {'{ a = ' * 300}1{' }' * 300}\n{TOOL}", "TM2"),
    "a deep extension": (f"{HEAD}{TOOL}ext = {{ a = {'[' * 300}{']' * 300} }}\n", "TM214"),
    "a deep schema": (f"{HEAD}{TOOL}input_schema = {'{ properties.a = ' * 600}{{}}{' }' * 600}\n", "TM214"),
    "a dotted key": (f"{HEAD}{TOOL}params{'.a' * 100_000} = 1\n", "TM106"),
    "a dotted key of 65 parts": (f"{HEAD}{TOOL}params{'.a' * 64} = 1\n", "TM106"),
    "a quoted dotted key": (f"{HEAD}{TOOL}params{'.' + chr(34) + 'a b' + chr(34)} . c{'.a' * 10_000} = 1\n", "TM106"),
    "a dotted header": (f"{HEAD}{TOOL}[tools{'.a' * 100_000}]\n", "TM106"),
    "a dotted header of an array": (f"{HEAD}{TOOL}[[tools{'.a' * 10_000}]]\n", "TM106"),
    "a dotted key in a table": (f"{HEAD}{TOOL}ext = {{ a{'.a' * 10_000} = 1 }}\n", "TM106"),
    "keys of the top": (keys(8_000) + HEAD + TOOL, "TM203"),
    "keys of a tool": (HEAD + TOOL + keys(20_000), "TM203"),
    "misspelt keys": (HEAD + TOOL + keys(20_000, "sumary_descripton"), "TM203"),
    "keys of a parameter": (f"{HEAD}{TOOL}[tools.count_words.params.a]\ntype = 'string'\n{keys(8_000)}", "TM203"),
    "a key of each parameter": (
        HEAD + TOOL + "".join(f"params.p{n} = {{ type = 'string', kee{n} = 1 }}\n" for n in range(4_000)),
        "TM203",
    ),
    "unknown types": (
        HEAD + TOOL + "".join(f"params.p{n} = {{ type = 'Strng{n}', description = 'A' }}\n" for n in range(8_000)),
        "TM302",
    ),
    "tools with errors": (HEAD + tools(8_000), "TM301"),
    "choices": (
        f"{HEAD}{TOOL}params.a = {{ type = 'string', description = 'A', enum = {choices(100_000)} }}\n",
        "TM205",
    ),
    "choices of a type": (f"{HEAD}{TOOL}[types.T]\nenum = {choices(100_000)}\n", "TM205"),
    "choices of a schema": (
        f"{HEAD}{TOOL}input_schema = {{ type = 'object', properties.a.enum = {choices(100_000)} }}\n",
        "TM3",
    ),
    "members of a union": (f"{HEAD}{TOOL}[types.T]\ndiscriminator = 'kind'\none_of = {choices(100_000)}\n", "TM205"),
    "tags": (f"{HEAD}{TOOL}tags = {choices(100_000)}\n", "TM205"),
    "files": (f"include = {choices(10_001)}\n{HEAD}{TOOL}", "TM"),
    "a key of 1 MB": (f"{HEAD}{TOOL}{MEGABYTE} = 1\n", "TM203"),
    "a type of 1 MB": (typed(MEGABYTE), "TM303"),
    "a tool of 1 MB": (HEAD + TOOL.replace("count_words]", f"{MEGABYTE}]"), "TM"),
    "a parameter of 1 MB": (f"{HEAD}{TOOL}params.{MEGABYTE} = {{ type = 'string', description = 'A' }}\n", "TM"),
    "a package of 1 MB": (HEAD.replace("notes_server", MEGABYTE) + TOOL, "TM"),
    "handlers of 1 MB": (HEAD.replace('handlers = "notes"', f'handlers = "{MEGABYTE}"') + TOOL, "TM317"),
    "a handler of 1 MB": (HEAD + TOOL.replace("text:count_words", f"{MEGABYTE}:f"), "TM"),
    "a category of 1 MB": (HEAD + TOOL.replace('category = "text"', f'category = "{MEGABYTE}"'), "TM301"),
    "a schema file of 1 MB": (f'{HEAD}{TOOL}input_schema = "{MEGABYTE}.json"\n', "TM"),
    "an include of 1 MB": (f'include = ["{MEGABYTE}.toml"]\n{HEAD}{TOOL}', "TM110"),
    "a summary of 1 MB": (HEAD + TOOL.replace("Count the words of a text", MEGABYTE, 1), "TM205"),
    "an integer": (f"{HEAD}{TOOL}timeout = {'9' * 100_000}\n", "TM107"),
}


@pytest.mark.uncovered
@pytest.mark.parametrize("name", MANIFESTS)
def test_an_excessive_manifest_has_a_diagnostic(name: str, project: Project) -> None:
    text, code = MANIFESTS[name]
    project.manifest.write_text(text, encoding="utf-8")
    started = time.process_time()
    result = CliRunner().invoke(toolmason, ["check", "--manifest", str(project.manifest)])

    assert time.process_time() - started < CPU_S
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert f"error[{code}" in result.stderr, result.stderr[:2000]
    assert len(result.output) < 300_000


@pytest.mark.parametrize("number", [2_000, 8_000])
def test_the_work_for_suggestions_does_not_grow_with_the_findings(
    number: int, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    compare = difflib.get_close_matches

    def counted(word: str, choices: Iterable[str], n: int) -> list[str]:
        compared.append(len(list(choices)))
        return compare(word, choices, n=n)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    project.manifest.write_text(HEAD + TOOL + keys(number), encoding="utf-8")
    result = CliRunner().invoke(toolmason, ["check", "--manifest", str(project.manifest)])

    assert f"{number} errors" in result.stderr
    assert MAX_SHOWN <= len(compared) <= 6 * MAX_SHOWN


def test_the_findings_that_are_shown_have_suggestions(run: Callable[..., Result], project: Project) -> None:
    project.manifest.write_text(HEAD + TOOL + keys(8_000, "tag"), encoding="utf-8")

    assert run("check").stderr.count("did you mean `tags`?") == MAX_SHOWN


def test_outside_of_a_run_every_name_is_compared() -> None:
    assert closest_match("qurey", ["query"]) == "query"
    with limited_suggestions(1):
        assert closest_match("qurey", ["query"]) == "query"
        assert closest_match("qurey", ["query"]) == ""
    assert closest_match("qurey", ["query"]) == "query"


def test_many_dots_in_a_comment_are_not_a_long_key(run: Callable[..., Result], project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    project.manifest.write_text(f"# {'. ' * 200}\n{text}\n# {'a.' * 200}\n", encoding="utf-8")

    assert "TM106" not in run("check").stderr
