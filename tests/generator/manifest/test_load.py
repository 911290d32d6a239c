from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.diagnostics import Diagnostic, Diagnostics, Location
from toolmason.diagnostics.printers import report
from toolmason.diagnostics.terminal import LAYOUTS
from toolmason.manifest.document import Document, load
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve


def loaded(folder: Path, content: bytes) -> tuple[Document | None, list[Diagnostic]]:
    path = folder / "manifest.toml"
    path.write_bytes(content)
    diagnostics = Diagnostics()
    return load(path, root=folder, diagnostics=diagnostics), list(diagnostics)


def test_a_good_file_becomes_a_document(tmp_path: Path) -> None:
    folder = tmp_path / "manifest"
    folder.mkdir()
    path = folder / "catalog.toml"
    path.write_bytes(b"edition = 1\r\n")
    diagnostics = Diagnostics()

    document = load(path, root=tmp_path, diagnostics=diagnostics)

    assert document is not None
    assert not diagnostics
    assert document.path == PurePosixPath("manifest/catalog.toml")
    assert document.text == "edition = 1\n"
    assert document.data == {"edition": 1}


def test_a_file_outside_the_root_keeps_its_path(tmp_path: Path) -> None:
    diagnostics = Diagnostics()
    path = tmp_path / "elsewhere.toml"

    assert load(path, root=tmp_path / "project", diagnostics=diagnostics) is None
    assert [each.location.path for each in diagnostics] == [PurePosixPath(path.as_posix())]


@pytest.mark.parametrize(
    ("content", "code", "line", "column"),
    [
        pytest.param("a = '漢".encode() + b"\xff'", "TM102", 1, 7, id="columns are characters"),
        pytest.param("a = 1".encode("utf-16"), "TM102", 1, 1, id="UTF-16"),
        pytest.param(b"a = 1\n= 2\n", "TM103", 2, 1, id="no key"),
        pytest.param(b"a = [1,\n2\n\n\n", "TM103", 2, 2, id="at the end"),
        pytest.param(b"a = 1\rb = 2\n", "TM103", 1, 6, id="bare carriage return"),
        pytest.param(b"[a.b]\n[a]\n[a.b]\n", "TM105", 3, 4, id="table after its parent"),
        pytest.param(b"a = { b = 1, 'b' = 2, b = 3 }\n", "TM105", 1, 14, id="inline"),
        pytest.param(b"a = 1\n[a.b]\n", "TM105", 2, 2, id="value and table"),
        pytest.param(b"a = [1]\n[[a]]\n", "TM105", 2, 3, id="array and rows"),
        pytest.param(b"[a.b]\n[a]\nb.c = 1\n", "TM105", 3, 1, id="dotted into a table"),
        pytest.param(b"a = [[1], [[]], { b = ']' }]\nb = " + b"[" * 3000, "TM106", 2, 3004, id="arrays beside others"),
        pytest.param(b"a = '['\nb = " + b"{x=" * 3000 + b"1", "TM106", 2, 9002, id="inline tables"),
    ],
)
def test_a_syntax_error_has_a_code_line_and_column(
    tmp_path: Path, content: bytes, code: str, line: int, column: int
) -> None:
    document, found = loaded(tmp_path, content)

    assert document is None
    assert [(each.code, each.location.line, each.location.column) for each in found] == [(code, line, column)]


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("a = '\x00'", "invalid character"),
        ("a = null", "leave the key out"),
        ("a = True", "`true` or `false`"),
        ("a = word", "in quotes"),
        ("a = ", "a value is missing"),
        ("a = 'x", "on its line"),
        ("a = '''x", "does not end"),
        ('a = "x', "on its line"),
        ('a = "C:\\dir"', "single quotes"),
        ("a b = 1", "followed by `=`"),
        ("a = 1 b = 2", "a line"),
        ("[a", "close the header"),
        ("é = 1", "a comment"),
        ("a.é = 1", "in quotes"),
        ("a = [1 2]", "commas"),
        ("a = {b = 1 c = 2}", "same line"),
    ],
)
def test_common_syntax_errors_come_with_a_fix(tmp_path: Path, line: str, remedy: str) -> None:
    _, (found,) = loaded(tmp_path, f"{line}\n".encode())

    assert found.code == "TM103"
    assert remedy in f"{found.message} {found.hint}"


@pytest.mark.parametrize("name", ["missing.toml", ".", "manifest.toml/below", "null\0byte"])
def test_a_manifest_that_cannot_be_opened_is_a_diagnostic(tmp_path: Path, name: str) -> None:
    (tmp_path / "manifest.toml").write_text("", encoding="utf-8")
    diagnostics = Diagnostics()

    assert load(tmp_path / name, root=tmp_path, diagnostics=diagnostics) is None
    assert [each.code for each in diagnostics] == ["TM101"]


def test_a_missing_key_is_located_at_its_nearest_table(tmp_path: Path) -> None:
    document, _ = loaded(tmp_path, b"a = 1\n[b]\nc = { d = 2 }\n")
    assert document is not None

    assert document.locate(("b", "c", "d"), value=True) == Location(document.path, 3, 11)
    assert document.locate(("b", "c", "missing"), value=True) == Location(document.path, 3, 1)
    assert document.locate(("b", "missing", 3)) == Location(document.path, 2, 2)
    assert document.locate(("missing",)) == Location(document.path, 1, 1)
    assert document.locate(()) == Location(document.path, 1, 1)


@given(
    st.one_of(
        st.binary(max_size=80),
        st.text(alphabet="ab.=[]{}\"'\\#, \n\r\t1é\x1b\u202e", max_size=80).map(str.encode),
        st.text(alphabet="ab.=[]{}\"'\\#, \n1", max_size=60).map(
            lambda text: f"edition = 1\n[server]\n{text}".encode()
        ),
    )
)
def test_whatever_the_file_holds_ends_in_a_printed_diagnostic(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    document, found = loaded(folder, content)
    diagnostics = Diagnostics(dict.fromkeys(found))
    if document is not None:
        tables = validate(document, diagnostics=diagnostics)
        assert tables is None or resolve(tables, document, root=folder, diagnostics=diagnostics) is None

    assert diagnostics.has_errors
    for layout in LAYOUTS:
        assert report(diagnostics, layout, colour=True).endswith("\n")
