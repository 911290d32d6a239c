"""Names in Python source: certain uses are renamed; other places are listed or stay."""

from __future__ import annotations

import pytest

from toolmason.refactor.mentions import tool_mentions
from toolmason.refactor.python_text import PythonText


def function_renamed(source: str) -> str:
    text = PythonText(source)
    text.rename_function("list_notes", "find_notes")
    return text.result()


def strings_renamed(source: str, name: str = "list_notes") -> tuple[str, list[int]]:
    text = PythonText(source)
    text.rename_strings(name, "find_notes", tool_mentions(name), is_certain="_" in name)
    return text.result(), sorted(line for line, _ in text.uncertain)


def params_renamed(source: str) -> tuple[str, list[int]]:
    text = PythonText(source)
    text.rename_params(
        frozenset({"ListNotesParams"}), "list_notes", "due_date", "due", old_key="due-date", new_key="due"
    )
    return text.result(), sorted(line for line, _ in text.uncertain)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def list_notes(): ...\n", "def find_notes(): ...\n"),
        ("@wrap\nasync  def list_notes(): ...  # list_notes\n", "@wrap\nasync  def find_notes(): ...  # list_notes\n"),
        (
            "x = 'é'; y = 1\ndef list_notes(): return list_notes\n",
            "x = 'é'; y = 1\ndef find_notes(): return find_notes\n",
        ),
        (
            "def list_notes(): ...\ndef f(list_notes): return list_notes\n",
            "def find_notes(): ...\ndef f(list_notes): return list_notes\n",
        ),
        (
            "def list_notes(): ...\ndef f():\n    list_notes = 1\n    return list_notes\n",
            "def find_notes(): ...\ndef f():\n    list_notes = 1\n    return list_notes\n",
        ),
        (
            "def list_notes(): ...\ng = lambda list_notes: list_notes\n",
            "def find_notes(): ...\ng = lambda list_notes: list_notes\n",
        ),
        (
            "def list_notes(): ...\nself.list_notes = x.list_notes\n",
            "def find_notes(): ...\nself.list_notes = x.list_notes\n",
        ),
        ("__all__ = ['list_notes']\ndef list_notes(): ...\n", "__all__ = ['find_notes']\ndef find_notes(): ...\n"),
        ("def list_notes(): ...\r\nlist_notes()\r\n", "def find_notes(): ...\r\nfind_notes()\r\n"),
        ("\ufeffdef list_notes(): ...\n", "\ufeffdef find_notes(): ...\n"),
    ],
)
def test_a_function_is_renamed_with_its_uses(source: str, expected: str) -> None:
    assert function_renamed(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "list_notes = make()\n",
        "from x import list_notes\n",
        "def list_notes(): ...\ndef find_notes(): ...\n",
        "def list_notes(): ...\ndef f(): find_notes = 1\n",
        "if x:\n    def list_notes(): ...\n",
        "def list_notes(): ...\ndef list_notes(): ...\n",
    ],
)
def test_a_function_that_is_not_certain_stays(source: str) -> None:
    assert function_renamed(source) == source


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from tools.notes import list_notes\nlist_notes()\n", "from tools.notes import find_notes\nfind_notes()\n"),
        ("from tools.notes import list_notes as x\nx()\n", "from tools.notes import find_notes as x\nx()\n"),
        ("from tools import notes\nnotes.list_notes()\n", "from tools import notes\nnotes.find_notes()\n"),
        ("import tools.notes\ntools.notes.list_notes()\n", "import tools.notes\ntools.notes.find_notes()\n"),
        ("import tools.notes as n\nn.list_notes()\n", "import tools.notes as n\nn.find_notes()\n"),
        ("patch('tools.notes.list_notes')\n", "patch('tools.notes.find_notes')\n"),
        ("from other import list_notes\nlist_notes()\n", "from other import list_notes\nlist_notes()\n"),
        ("client.list_notes()\n", "client.list_notes()\n"),
    ],
)
def test_uses_of_a_function_in_other_modules_are_renamed(source: str, expected: str) -> None:
    text = PythonText(source)
    text.rename_imported_function("tools.notes", "list_notes", "find_notes")
    assert text.result() == expected


@pytest.mark.parametrize(
    ("source", "expected", "lines"),
    [
        ("call('list_notes')\n", "call('find_notes')\n", []),
        ("x = 'list_notes' 'x'\n", "x = 'list_notes' 'x'\n", []),
        ("x = r'a\\list_notes'\n", "x = r'a\\find_notes'\n", []),
        ("x = '\\nlist_notes'\n", "x = '\\nfind_notes'\n", []),
        ("# see list_notes\n", "# see find_notes\n", []),
        ("x = f'list_notes {list_notes}: {{list_notes}}'\n", "x = f'find_notes {list_notes}: {{find_notes}}'\n", []),
        ("open('list_notes.txt')\n", "open('list_notes.txt')\n", [1]),
        ("def test_list_notes(): ...\n", "def test_list_notes(): ...\n", []),
        ("x = my_list_notes\n", "x = my_list_notes\n", []),
    ],
)
def test_a_distinctive_name_changes_in_strings(source: str, expected: str, lines: list[int]) -> None:
    assert strings_renamed(source) == (expected, lines)


@pytest.mark.parametrize(
    ("source", "expected", "lines"),
    [
        ("client.call_tool('list', {})\n", "client.call_tool('find_notes', {})\n", []),
        ("x = {'tool_name': 'list', 'args': {}}\n", "x = {'tool_name': 'find_notes', 'args': {}}\n", []),
        ("x = {'type': 'list'}\n", "x = {'type': 'list'}\n", [1]),
        ("assert kind == 'list'\n", "assert kind == 'list'\n", [1]),
        ("'Use `list` to list notes.'\n", "'Use `find_notes` to list notes.'\n", []),
        ("x: list = []\n", "x: list = []\n", []),
    ],
)
def test_a_word_changes_in_calls_alone(source: str, expected: str, lines: list[int]) -> None:
    assert strings_renamed(source, "list") == (expected, lines)


@pytest.mark.parametrize(
    ("source", "expected", "lines"),
    [
        (
            "def f(params: ListNotesParams): return params.due_date\n",
            "def f(params: ListNotesParams): return params.due\n",
            [],
        ),
        (
            "def f(p: 'm.ListNotesParams | None'): return p.due_date\n",
            "def f(p: 'm.ListNotesParams | None'): return p.due_date\n",
            [],
        ),
        (
            "async def f(p: m.ListNotesParams | None): return x.due_date, p.due_date\n",
            "async def f(p: m.ListNotesParams | None): return x.due_date, p.due\n",
            [],
        ),
        (
            "def f(p: ListNotesParams | Other): return p.due_date\n",
            "def f(p: ListNotesParams | Other): return p.due_date\n",
            [1],
        ),
        ("def f(p: Other): return p.due_date\n", "def f(p: Other): return p.due_date\n", []),
        (
            "def f(p: ListNotesParams): return getattr(p, 'due_date')\n",
            "def f(p: ListNotesParams): return getattr(p, 'due_date')\n",
            [1],
        ),
        ("x = ListNotesParams(due_date=1)\n", "x = ListNotesParams(due=1)\n", []),
        ("x = Other(due_date=1)\n", "x = Other(due_date=1)\n", []),
        ("call('list_notes', {'due-date': 1})\n", "call('list_notes', {'due': 1})\n", []),
        ("call('other', {'due-date': 1})\n", "call('other', {'due-date': 1})\n", []),
        (
            "call({'name': 'list_notes', 'arguments': {'due-date': 1}})\n",
            "call({'name': 'list_notes', 'arguments': {'due': 1}})\n",
            [],
        ),
        (
            "def f(p: ListNotesParams):\n    '''Use `p.due_date`.'''\n",
            "def f(p: ListNotesParams):\n    '''Use `p.due`.'''\n",
            [],
        ),
    ],
)
def test_a_parameter_changes_where_its_class_is_certain(source: str, expected: str, lines: list[int]) -> None:
    assert params_renamed(source) == (expected, lines)
