"""The files of a question: `paths`, `@path`, ignore rules, roots, and names of what is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from toolmason_runtime import ToolError

from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.scan import Scan
from workbench_research.context.choose import IGNORED_REASON, SECRET_REASON, Chosen, choose, is_secret_name, shown

FILES = (
    *("README.md", "a b.txt", "src/app.py", "src/util/text.py", "src/@scope/x.ts", "src/(x)/[y].ts", "docs/guide.md"),
    *("logs/today.log", "node_modules/x/index.js", "build/app.js", ".git/config", ".env", ".env.example", "k/id_rsa"),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    base = tmp_path_factory.mktemp("choose")
    project = base / "proj"
    for name in FILES:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (project / ".gitignore").write_text("logs/\n", encoding="utf-8")
    (base / "other").mkdir()
    (base / "other" / "secret.txt").write_text("secret", encoding="utf-8")
    (project / "out.txt").symlink_to(base / "other" / "secret.txt")
    (project / "alias.md").symlink_to("README.md")
    return Root.of(str(project), "a test")


def chosen(root: Root, *paths: str, question: str = "", exclude: tuple[str, ...] = ()) -> Chosen:
    return choose(root, Scan(), paths=paths, question=question, exclude=exclude)


def names(result: Chosen) -> list[str]:
    return [shown(file) for file in result.files]


WHOLE = [".env.example", ".gitignore", "README.md", "a b.txt", "docs/guide.md", "src/(x)/[y].ts", "src/@scope/x.ts"]


def test_the_whole_project_is_chosen_without_paths(root: Root) -> None:
    result = chosen(root, question="How does it start?")

    assert names(result) == [*WHOLE, "src/app.py", "src/util/text.py"]
    assert not result.are_named
    left_out = {entry.path: entry.reason for entry in result.left_out}
    assert left_out == {
        ".env": SECRET_REASON,
        "k/id_rsa": SECRET_REASON,
        "logs/": IGNORED_REASON,
        "build/": IGNORED_REASON,
        "out.txt": "a symbolic link, which is not followed",
        "alias.md": "a symbolic link, which is not followed",
    }


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["src/app.py"], ["src/app.py"]),
        (["src"], ["src/(x)/[y].ts", "src/@scope/x.ts", "src/app.py", "src/util/text.py"]),
        (
            ["src/", "./src/app.py", "docs"],
            ["docs/guide.md", "src/(x)/[y].ts", *WHOLE[-1:], "src/app.py", "src/util/text.py"],
        ),
        (["src/**/*.py"], ["src/app.py", "src/util/text.py"]),
        (["*.md"], ["README.md", "docs/guide.md"]),
        (["**/*.{ts,md}"], ["README.md", "docs/guide.md", "src/(x)/[y].ts", "src/@scope/x.ts"]),
        (["src/(x)/[y].ts"], ["src/(x)/[y].ts"]),
        (["a b.txt"], ["a b.txt"]),
        (["alias.md"], ["README.md"]),
        (["logs"], ["logs/today.log"]),
        (["logs/today.log"], ["logs/today.log"]),
        (["build"], ["build/app.js"]),
    ],
)
def test_paths_are_files_directories_and_globs(root: Root, paths: list[str], expected: list[str]) -> None:
    result = chosen(root, *paths, question="What is @README.md of ?" if paths == ["*.md"] else "")

    assert names(result) == expected
    assert result.are_named


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does @src/app.py do?", ["src/app.py"]),
        ("Compare @src/app.py:12-14, (@docs/guide.md).", ["docs/guide.md", "src/app.py"]),
        ('Explain @"a b.txt" and @src/util/', ["a b.txt", "src/util/text.py"]),
        ("Explain @'a b.txt'", ["a b.txt"]),
        (r"Explain @a\ b.txt now", ["a b.txt"]),
        ("See @src/@scope/x.ts", ["src/@scope/x.ts"]),
        ("读取 @src/app.py的代码", ["src/app.py"]),
        (r"A literal \@src/app.py and @README.md", ["README.md"]),
        ("Ask bob@docs about @property in @README.md", ["README.md"]),
    ],
)
def test_references_of_the_question_are_chosen(root: Root, question: str, expected: list[str]) -> None:
    assert names(chosen(root, question=question)) == expected


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("logs/today.log", IGNORED_REASON),
        ("logs/", IGNORED_REASON),
        ("node_modules/x/index.js", IGNORED_REASON),
        (".git/config", IGNORED_REASON),
        (".env", SECRET_REASON),
        ("k/id_rsa", SECRET_REASON),
    ],
)
def test_a_reference_to_an_ignored_or_secret_file_is_named_with_the_reason(root: Root, path: str, reason: str) -> None:
    result = chosen(root, question=f"Read @{path} and @README.md")

    assert names(result) == ["README.md"]
    assert [(entry.path, entry.reason) for entry in result.left_out] == [(path, reason)]


@pytest.mark.parametrize("path", [".git", ".git/config", ".env", "k/id_rsa"])
def test_version_control_and_secrets_are_left_out_even_if_a_path_names_them(root: Root, path: str) -> None:
    result = chosen(root, path)

    assert result.files == ()
    assert [entry.path.rstrip("/") for entry in result.left_out] == [path]


@pytest.mark.parametrize(
    "path",
    [
        *("../other/secret.txt", "/etc/passwd", "~/.ssh/config", "src/../../other", "out.txt", "src/\0x", ""),
        *("../*", "/etc/*", "src/../../*.txt", "~/*.txt"),
    ],
)
def test_paths_outside_the_project_are_refused(root: Root, path: str) -> None:
    with pytest.raises(ToolError) as error:
        chosen(root, path)
    assert error.value.code == "PATH_NOT_ALLOWED"


@pytest.mark.parametrize("reference", ["@../other/secret.txt", "@/etc/passwd", "@out.txt", '@"../other"', "@~/x"])
def test_references_outside_the_project_are_refused(root: Root, reference: str) -> None:
    with pytest.raises(ToolError) as error:
        chosen(root, question=f"Read {reference}")
    assert error.value.code == "PATH_NOT_ALLOWED"


def test_missing_paths_and_references_are_errors_with_a_suggestion(root: Root) -> None:
    for arguments in ({"paths": ["src/ap.py"]}, {"question": "@src/ap.py"}):
        with pytest.raises(ToolError) as error:
            choose(root, Scan(), **arguments)
        assert error.value.code == "INVALID_ARGUMENT"
        assert "src/app.py" in error.value.message


def test_a_glob_without_matches_is_a_warning(root: Root) -> None:
    result = chosen(root, "*.rs", "README.md")

    assert names(result) == ["README.md"]
    assert result.warnings == ("no file matches `*.rs`; ignored files are not searched",)


def test_excluded_files_are_not_chosen(root: Root) -> None:
    assert names(chosen(root, "src", "docs", exclude=("src/util/**", "*.ts"))) == ["docs/guide.md", "src/app.py"]


def test_a_file_that_becomes_a_link_while_walking_is_not_followed(root: Root) -> None:
    link = root.path / "src" / "late"
    link.symlink_to(root.path.parent / "other")
    try:
        result = chosen(root, "src")
    finally:
        link.unlink()
    assert "src/late" in {entry.path for entry in result.left_out}
    assert not any("secret" in name for name in names(result))


def test_names_that_are_not_utf8_are_shown_as_escapes(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("x")
    except OSError:
        pytest.skip("the file system has only names in UTF-8")

    assert names(chosen(Root.of(str(tmp_path), "a test"))) == ["caf\\xe9.py"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            (name, True)
            for name in (".env", ".ENV.local", "prod.env", "server.PEM", "id_ed25519", ".npmrc", "x.tfstate")
        ),
        *((name, True) for name in ("service-account-prod.json", "client_secret_1.json", "secrets.yml", "store.jks")),
        *((name, False) for name in (".env.example", "env.py", "keys.py", "secrets.py", "test_secrets.json", "x.pub")),
        *((name, False) for name in ("environment.yml", "credentials.py", "monkey.json", ".env.sample")),
    ],
)
def test_names_of_secret_files(name: str, expected: bool) -> None:
    assert is_secret_name(name) is expected
