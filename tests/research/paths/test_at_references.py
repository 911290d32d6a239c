"""References of a prompt are resolved before the Gemini CLI reads it, and every other `@` is escaped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.workspace.ignore import ALWAYS_IGNORED
from workbench_handlers.workspace.roots import Root
from workbench_research.at_references import MAX_REFERENCES, References, escape_at_signs, resolve_references

CLI = re.compile(r'(?<!\\)@((?:(?:"(?:[^"]*)")|(?:\\[^\n\r\u2028\u2029]|[^ \t\n\r,;!?()\[\]{}.]|\.(?!\Z|[ \t\n\r])))+)')
"""How the Gemini CLI 0.61 finds references: `AT_COMMAND_PATH_REGEX_SOURCE`, in Python's words."""


def taken(prompt: str) -> list[str]:
    """Give the paths that the CLI takes from a prompt."""
    return [re.sub(r"\\([^\n\r\u2028\u2029])", r"\1", match[1]) for match in CLI.finditer(prompt)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    base = tmp_path_factory.mktemp("references")
    project = base / "proj"
    for name in (
        "a.txt",
        "README.md",
        "a b.txt",
        "src/app.py",
        "src/@scope/x.ts",
        "src/(x)/[y].ts",
        "it's (1), really; {x}.md",
        "Makefile",
    ):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (base / "proj-evil").mkdir()
    (base / "proj-evil" / "secret.txt").write_text("secret", encoding="utf-8")
    (project / "out").symlink_to(base / "proj-evil")
    (project / "src" / "(out)").symlink_to(base / "proj-evil")
    (project / "out.txt").symlink_to(base / "proj-evil" / "secret.txt")
    (project / "alias.txt").symlink_to("a.txt")
    (project / "loop.txt").symlink_to("loop.txt")
    os.mkfifo(project / "pipe")
    return Root.of(str(project), "a test")


def outcome(prompt: str, root: Root) -> References | ToolError:
    try:
        return resolve_references(prompt, root)
    except ToolError as error:
        return error


def refused(prompt: str, root: Root) -> ToolError:
    with pytest.raises(ToolError) as caught:
        resolve_references(prompt, root)
    return caught.value


def paths(found: References) -> list[str]:
    return [reference.path for reference in found.found]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("@a.txt", ["a.txt"]),
        ("explain @src/app.py.", ["src/app.py"]),
        ("(@src/app.py), @README.md; then @a.txt!", ["src/app.py", "README.md", "a.txt"]),
        ("compare @a.txt with @a.txt", ["a.txt"]),
        (r"read @a\ b.txt now", ["a b.txt"]),
        ('read @"a b.txt" now', ["a b.txt"]),
        ("read @'a b.txt' now", ["a b.txt"]),
        ("read @`a b.txt` now", ["a b.txt"]),
        ("in `@src/app.py`", ["src/app.py"]),
        ("in **@src/app.py**:", ["src/app.py"]),
        ("at @src/app.py:12 and @README.md#L3-L5", ["src/app.py", "README.md"]),
        ("all of @src/ and @src", ["src"]),
        ("the whole @./", ["."]),
        ("up and down @src/../a.txt", ["a.txt"]),
        ("out and in again @../proj/a.txt", ["a.txt"]),
        ("by a link @alias.txt", ["a.txt"]),
        ("a scope @src/@scope/x.ts", ["src/@scope/x.ts"]),
        ('odd @"it\'s (1), really; {x}.md"', ["it's (1), really; {x}.md"]),
        ("no ending: @Makefile", ["Makefile"]),
        ("请看@src/app.py。", ["src/app.py"]),
        ("--file=@a.txt", ["a.txt"]),
        ("@a.txt\n@README.md\r\n\t@src/app.py", ["a.txt", "README.md", "src/app.py"]),
    ],
)
def test_a_reference_that_is_there_is_found_and_is_all_that_the_program_takes(
    root: Root, prompt: str, found: list[str]
) -> None:
    checked = resolve_references(prompt, root)
    assert paths(checked) == found
    assert {os.path.normpath(path) for path in taken(checked.prompt)} == set(found)


TEXTS = [
    "mail bob@example.com or jürgen@a.txt or first.last+tag@src/app.py",
    "joe@/etc and root@~/x and x_@../proj-evil/secret.txt",
    "git@github.com:owner/repo.git",
    "https://medium.com/@author/post.html",
    "@property @pytest.fixture @app.route('/x') @dataclass(frozen=True) @functools.cache",
    "npm i @google/genai @types/node @angular/core@17.1.0",
    "@alice and @bob-smith, thanks",
    "@@ -1,3 +1,4 @@ def f():",
    "user.split('@')[1] + x.join('@') and email.split(\"@\")[1]; x=\"y\"",
    "import Button from '@/components/Button'",
    r"plain \@a.txt and \@../x",
    "@ a.txt, @, @",
    "all of @src/**/*.py",
    "a @media rule {}",
    f"@{'x' * 300}/y",
    f"@{'x/' * 3000}y.py",
]


@pytest.mark.parametrize("prompt", TEXTS)
def test_what_is_no_path_stays_text_and_the_program_takes_none_of_it(root: Root, prompt: str) -> None:
    checked = resolve_references(prompt, root)
    assert checked.found == ()
    assert taken(checked.prompt) == []
    assert checked.prompt.replace("\\@", "@") == prompt.replace("\\@", "@")


OUTSIDE = [
    "@/etc/passwd",
    "@../proj-evil/secret.txt",
    "@../../x",
    "@..",
    "@~/x",
    "@~",
    "@~root/x",
    '@"../proj-evil/secret.txt"',
    "@'../..'",
    '@"~/x y"',
    r"@\.\./proj-evil/secret.txt",
    "@src/../../proj-evil/secret.txt",
    "@out/secret.txt",
    "@out.txt",
    "@out",
    "@out/*.txt",
    "@./../x.py",
    "@a\0b/../../x",
]


@pytest.mark.parametrize("written", OUTSIDE)
def test_a_reference_that_leads_outside_is_refused(root: Root, written: str) -> None:
    for prompt in (written, f"look at {written}", f"({written}, @a.txt)"):
        error = refused(prompt, root)
        assert error.code == "PATH_NOT_ALLOWED"
        assert written.strip() in error.message
        assert "\\@" in error.message


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Root:
    """A project whose names have all that ends a reference for the program."""
    base = tmp_path_factory.mktemp("routes")
    project = base / "proj"
    for name in (
        "app/(auth)/page.tsx",
        "app/[id]/page.tsx",
        "app/[[...all]]/page.tsx",
        "app/@modal/(.)photo/page.tsx",
        "app/secret.ts",
        "app/x;y.ts",
        "app/{g}.ts",
        "app/a,b!.ts",
        "(group)/page.tsx",
        "[slug].tsx",
        "src/app.py",
        "src/x(1).py",
        "types/node/index.d.ts",
        "LICENSE",
    ):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (base / "outside").mkdir()
    (base / "outside" / "secret.txt").write_text("secret", encoding="utf-8")
    (project / "app" / "(out)").symlink_to(base / "outside")
    os.mkfifo(project / "src" / "app.py(2)")
    return Root.of(str(project), "a test")


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("Explain @app/(auth)/page.tsx", ["app/(auth)/page.tsx"]),
        ("@app/@modal/(.)photo/page.tsx", ["app/@modal/(.)photo/page.tsx"]),
        (r"Explain @app/\(auth\)/page.tsx", ["app/(auth)/page.tsx"]),
        ("Explain @app/(auth)", ["app/(auth)"]),
        ("(see @app/(auth)/)", ["app/(auth)"]),
        (
            "(@src/x(1).py), @app/x;y.ts; @app/{g}.ts! @app/a,b!.ts?",
            ["src/x(1).py", "app/x;y.ts", "app/{g}.ts", "app/a,b!.ts"],
        ),
        ("`@src/x(1).py:12-14` and **@src/x(1).py**", ["src/x(1).py"]),
        ("@(group)/page.tsx", ["(group)/page.tsx"]),
        ("@src/app.py,@app/secret.ts", ["src/app.py", "app/secret.ts"]),
        ("[app](@src/app.py) and (@app/(auth)), [@src/](https://example.com/x)", ["src/app.py", "app/(auth)", "src"]),
        ('["@src","lib/x.py"]', ["src"]),
        ("@src/app.py's code", ["src/app.py"]),
        ("日本語@src/app.pyを見て", ["src/app.py"]),
        ("@srcを見て", ["src"]),
        ("@src/app.py::test_x and @src/app.py#top", ["src/app.py"]),
        ("npm i @types/node", ["types/node"]),
    ],
)
def test_the_longest_path_that_is_there_and_ends_like_a_name_is_taken_and_it_alone(
    routes: Root, prompt: str, found: list[str]
) -> None:
    checked = resolve_references(prompt, routes)
    assert paths(checked) == found
    assert list(dict.fromkeys(os.path.normpath(path) for path in taken(checked.prompt))) == found


@pytest.mark.parametrize(
    "written",
    ["@app/[id]/page.tsx", '@"app/[id]/page.tsx"', "@app/[id]", "@app/[[...all]]/page.tsx", "@[slug].tsx", '@"a*.ts"'],
)
def test_a_name_that_the_program_takes_for_a_pattern_is_text_with_a_warning(routes: Root, written: str) -> None:
    (routes.path / "a*.ts").touch()
    checked = resolve_references(f"Explain {written}, please", routes)
    assert (checked.found, taken(checked.prompt)) == ((), [])
    assert written[1:] in checked.prompt
    assert checked.warnings == (
        (f"not attached, since the Gemini CLI reads its name as a pattern; the model can still open it: `{written}`"),
    )


def test_text_around_a_path_stays_and_a_space_ends_the_path(routes: Root) -> None:
    assert resolve_references("Explain (@app/(auth)/page.tsx).", routes).prompt == r"Explain (@app/\(auth\)/page.tsx )."
    assert resolve_references("@src/app.py's", routes).prompt == "@src/app.py 's"
    assert resolve_references("@src/app.py:12 (why?)", routes).prompt == "@src/app.py :12 (why?)"
    assert resolve_references("f(@(x), @[y], @{z})", routes).prompt == r"f(\@(x), \@[y], \@{z})"


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("Explain @app/(nope)/page.tsx", "@app/(nope)/page.tsx"),
        ("Explain (@app/(auth)/nope.tsx).", "@app/(auth)/nope.tsx"),
        ("@app/[nope]", "@app/[nope"),
        ("@app/page(1", "@app/page(1"),
        ("(@src/app.py)(see/also)", "@src/app.py)(see/also"),
        ("@app(1).ts", "@app(1).ts"),
        ("@app,v2/page.tsx", "@app,v2/page.tsx"),
        ("@src/app.py(1).py", "@src/app.py(1).py"),
        ("@src/app.py.bak", "@src/app.py.bak"),
        ("@src/app.py(2)", "@src/app.py(2)"),
        ("@(group)/nope.tsx", "@(group)/nope.tsx"),
        ("@src/nope.pyを見て", "@src/nope.py"),
    ],
)
def test_no_folder_or_shorter_name_is_taken_for_a_path_that_is_missing(routes: Root, prompt: str, named: str) -> None:
    error = refused(prompt, routes)
    assert (error.code, [each["reference"] for each in error.details["paths"]]) == ("INVALID_ARGUMENT", [named])


def test_a_path_with_brackets_that_leads_outside_is_refused(routes: Root) -> None:
    for prompt in ("@app/(out)/secret.txt", "@app/(out)", "@app/(out)/nope.txt", "@app/(out)'s", "@../(x)/y.py"):
        assert refused(prompt, routes).code == "PATH_NOT_ALLOWED"


def test_a_decorator_named_as_a_folder_is_text(routes: Root) -> None:
    checked = resolve_references("@app('/x') def f(): ... @src() @types(a/b)", routes)
    assert (checked.found, taken(checked.prompt)) == ((), [])


def test_all_references_that_lead_outside_are_named_at_once_and_those_that_do_not_are_not(root: Root) -> None:
    error = refused("@a.txt @../x @~/y @missing.py @/etc/hosts", root)
    assert [each["reference"] for each in error.details["paths"]] == ["@../x", "@~/y", "@/etc/hosts"]
    assert "missing.py" not in error.message


def test_a_message_names_only_the_first_of_very_many(root: Root) -> None:
    error = refused(" ".join(f"@../{number}" for number in range(1000)), root)
    assert "and 980 more" in error.message
    assert len(error.message) < 2_000
    assert len(error.details["paths"]) == 100


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("@src/ap.py", "`src/app.py`"),
        ("@srv/app.py", "`src`"),
        ("@READM.md", "`README.md`"),
        ("@./nothing", ""),
        ("@nothing/", ""),
        ("@src/nothing", ""),
        ('@"no such.txt"', ""),
        ("@.gitignore", ""),
        ("@a.txt/x.py", ""),
        (f"@src/{'x' * 300}.py", ""),
        (f"@{'x' * 300}/x.py", ""),
    ],
)
def test_a_missing_path_is_reported_with_the_nearest_names(root: Root, written: str, near: str) -> None:
    error = refused(f"see {written} there", root)
    assert error.code == "INVALID_ARGUMENT"
    assert written in error.message
    assert near in error.message


@pytest.mark.parametrize(
    ("written", "reason"), [("@pipe", "neither a file nor a directory"), ("@loop.txt", "a loop of symbolic links")]
)
def test_a_path_that_would_hang_or_fail_the_program_is_reported(root: Root, written: str, reason: str) -> None:
    error = refused(written, root)
    assert (error.code, error.details["paths"][0]["reason"]) == ("INVALID_ARGUMENT", reason)


def test_a_reference_is_rewritten_as_the_program_reads_it(root: Root) -> None:
    checked = resolve_references('see @"a b.txt", `@alias.txt` and bob@a.txt', root)
    assert checked.prompt == r"see @a\ b.txt , `@a.txt ` and bob\@a.txt"
    assert checked.found[0].text == '@"a b.txt"'


def test_an_absolute_path_within_the_project_is_written_relative(root: Root) -> None:
    checked = resolve_references(f"see @{root.path}/src/app.py", root)
    assert checked.prompt == "see @src/app.py"


IGNORED = "not attached, since it is ignored by .gitignore, or is part of version control or of an installed package"


def test_ignored_files_and_secrets_are_text_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").write_text("/private/\n", encoding="utf-8")
    for name in ("a.log", "keep.log", "sub/private/x.txt", "node_modules/p/index.js", ".env", ".env.local"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    prompt = "@a.log @keep.log @sub @sub/private @sub/private/x.txt @node_modules/p/ @.env @.env.local"
    root = Root.of(str(tmp_path), "a test")
    checked = resolve_references(prompt, root)
    assert paths(checked) == taken(checked.prompt) == ["keep.log", "sub"]
    assert checked.warnings == (
        f"{IGNORED}: `@a.log`, `@sub/private`, `@sub/private/x.txt`, `@node_modules/p/`",
        "not attached, since it may contain secrets: `@.env`, `@.env.local`",
    )
    assert paths(resolve_references(prompt, root, obeys_git=False)) == [
        *("a.log", "keep.log", "sub", "sub/private", "sub/private/x.txt")
    ]


@pytest.mark.parametrize("name", [b"a\nb.txt", b"caf\xe9.txt"])
def test_a_link_to_a_name_that_no_prompt_can_contain_is_text(tmp_path: Path, name: bytes) -> None:
    (tmp_path / os.fsdecode(name)).write_text("", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(os.fsdecode(name))
    checked = resolve_references("@link.txt", Root.of(str(tmp_path), "a test"))
    assert checked.prompt == "\\@link.txt"
    assert checked.warnings == (
        "not attached, since its name contains characters that a prompt cannot contain: `@link.txt`",
    )


def test_a_chain_of_too_many_links_is_refused(tmp_path: Path) -> None:
    previous = "a.txt"
    for number in range(1500):
        (tmp_path / f"{number}").symlink_to(previous)
        previous = f"{number}"
    error = refused(f"@{previous}", Root.of(str(tmp_path), "a test"))
    assert error.details["paths"] == [{"reference": "@1499", "reason": "the path is a chain of too many links"}]


def test_references_are_checked_even_where_nothing_reads_ignore_files(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pathspec", None)  # to Python, a module that is not installed
    assert paths(resolve_references("@a.txt", root)) == ["a.txt"]
    assert refused("@../x", root).code == "PATH_NOT_ALLOWED"


def test_more_references_than_can_be_looked_up_are_refused(root: Root) -> None:
    names = [f"@n{number}" for number in range(MAX_REFERENCES)]
    assert resolve_references(" ".join(names * 2), root).found == ()
    assert refused(" ".join([*names, "@one.more"]), root).code == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    "unit",
    [
        "@",
        "@a.txt ",
        "@'",
        '@"',
        "@`a",
        "bob@example.com ",
        "@x:",
        "@a/",
        "@\\",
        '@" ',
        "'@'",
        "@../",
        "word ",
        '"',
        "@(",
        "@src/(",
        "@x(a/",
        "(@a.txt,",
        "@a'b ",
        "@src/')(",
    ],
)
def test_a_prompt_of_a_megabyte_is_resolved_whatever_it_contains(root: Root, unit: str) -> None:
    prompt = unit * (1_000_000 // len(unit))
    checked = outcome(prompt, root)
    assert isinstance(checked, ToolError) or len(checked.prompt) >= len(prompt)


PIECE = st.sampled_from(
    [
        *("@", "@@", "\\@", "\\", '"', "'", "`", " ", "\n", ".", ",", "/", "~", "..", "../", ":", "=", "é", "看", "\0"),
        *("a.txt", "a b.txt", r"a\ b.txt", "src/", "src", "app.py", "README.md", "out/secret.txt", "out", "word"),
        *("@a.txt", '@"a b.txt"', "@src/app.py", "@'../x'", "bob@example.com", "@property", ":12", "alias.txt"),
        *("proj-evil/secret.txt", "@../proj-evil/secret.txt", "{", "(", ")", ";", "\u2028", "\r"),
        *("(x)", "[y]", "(x)/", "@src/(x)/[y].ts", "@src/(out)/secret.txt", "[y].ts", "'s", "を", "@(", "(out)", "\\("),
    ]
) | st.characters(codec="utf-8")


@given(pieces=st.lists(PIECE, max_size=14))
@example(pieces=["@", '"', "a.txt", '"', '"', " ", "@../x", '"'])
@example(pieces=["@a.txt", '"', " @out ", '"'])
@example(pieces=["@", "@", ".", "["])
@example(pieces=["\\", "@'", "@src/app.py", "'"])
@example(pieces=["@a.txt", "\x1f"])
def test_whatever_the_prompt_the_program_takes_just_what_was_checked(root: Root, pieces: list[str]) -> None:
    checked = outcome("".join(pieces), root)
    if isinstance(checked, ToolError):
        assert checked.code in {"PATH_NOT_ALLOWED", "INVALID_ARGUMENT"}
        assert checked.details["paths"]
        return
    resolved = [os.path.realpath(root.path / path) for path in taken(checked.prompt)]
    assert list(dict.fromkeys(resolved)) == [str(each.located.path) for each in checked.found]
    for path in resolved:
        assert Path(path).exists()
        assert Path(path).is_relative_to(root.path)


@given(text=st.text(st.sampled_from('@\\" .,a/~\n'), max_size=30))
def test_plain_text_has_no_reference_however_backslashes_are_read(text: str) -> None:
    escaped = escape_at_signs(text)
    assert taken(escaped) == []
    assert all(len(run) % 2 for run in re.findall(r"(\\*)@", escaped))
    assert escape_at_signs(escaped) == escaped


def is_attached(name: str) -> bool:
    """Return whether the name is attached, unless the CLI takes it for a pattern: secrets and packages are not."""
    return name not in {".", "..", *ALWAYS_IGNORED} and not name.casefold().startswith(("~", ".env"))


@given(
    name=st.text(st.characters(codec="utf-8", exclude_characters="/\0\n\r\u2028\u2029\"'`"), min_size=1, max_size=20)
)
def test_any_name_can_be_referred_to_in_quotes(root: Root, name: str) -> None:
    assume(name == name.strip() and is_attached(name))
    directory = root.path / "names"
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.touch()
    try:
        checked = resolve_references(f'see @"names/{name}", please', root)
        if checked.warnings:  # the program would take it for a pattern
            assert (checked.found, taken(checked.prompt)) == ((), [])
            assert re.search(r"[*?\[\\({]", name) or not name.isprintable()
        else:
            assert [each.located.path for each in checked.found] == [path]
            assert taken(checked.prompt) == [f"names/{name}"]
    finally:
        path.unlink()


@given(
    name=st.text(
        st.characters(codec="utf-8", exclude_characters="/\0\\@ \t\n\r\u2028\u2029\"'`", exclude_categories=["Z", "C"]),
        min_size=1,
        max_size=20,
    )
)
@example(name="(a)")
@example(name="x{1},[2];!?")
def test_any_name_without_spaces_can_be_referred_to_as_it_is(root: Root, name: str) -> None:
    assume(is_attached(name) and "](" not in name)  # a link ends the path
    directory = root.path / "bare"
    (directory / name).mkdir(parents=True, exist_ok=True)
    path = directory / name / "a.txt"
    path.touch()
    try:
        checked = resolve_references(f"see @bare/{name}/a.txt please", root)
        if checked.warnings:
            assert (checked.found, taken(checked.prompt)) == ((), [])
            assert re.search(r"[*?\[({]", name)
        else:
            assert [each.located.path for each in checked.found] == [path]
            assert taken(checked.prompt) == [f"bare/{name}/a.txt"]
    finally:
        path.unlink()
        path.parent.rmdir()


Reader = Callable[[str], set[str]]


@pytest.fixture
def read_by_the_program(project: Path, gemini: str, gemini_home: Any, api: Any) -> Reader:
    """Ask the real CLI in `project`, and give the names of the files whose content it sent on."""
    for name in ("a.txt", "a b.txt", "property_test.py", "example.com.txt", "Makefile"):
        (project / name).write_text(f"here is <{name}>", encoding="utf-8")
    command = [gemini, "-o", "json", "-m", "gemini-2.5-flash", "--skip-trust", "-e", "none"]

    def read(prompt: str) -> set[str]:
        run = subprocess.run(
            [*command, "--allowed-mcp-server-names", "none"],
            input=prompt,
            cwd=project,
            env=dict(gemini_home.environ),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        sent = json.dumps([request.body for request in api.requests], ensure_ascii=False)
        return set(re.findall(r"here is <([^>]+)>", sent))

    return read


def test_the_real_program_reads_what_was_checked_and_nothing_else(project: Path, read_by_the_program: Reader) -> None:
    prompt = '@property bob@example.com @google/genai `@a.txt` and @"a b.txt":12" @Makefile'
    checked = resolve_references(prompt, Root.of(str(project), "a test"))
    assert read_by_the_program(checked.prompt) == {"a.txt", "a b.txt", "Makefile"}


def test_the_real_program_reads_a_path_with_brackets_and_not_the_folder(
    project: Path, read_by_the_program: Reader
) -> None:
    unread = {"app/[id]/page.tsx", "app/i/page.tsx", "app/d/page.tsx", "app/secret.ts"}
    names = {"app/(auth)/page.tsx", "app/{g}.ts", "x,y;z!.ts", "看.ts", *unread}
    for name in names:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"here is <{name}>", encoding="utf-8")
    prompt = "(@app/(auth)/page.tsx), @app/[id]/page.tsx; @app/{g}.ts @x,y;z!.ts's @看.ts"
    checked = resolve_references(prompt, Root.of(str(project), "a test"))
    assert read_by_the_program(checked.prompt) == names - unread


def test_the_real_program_takes_no_at_sign_of_any_spelling(project: Path, read_by_the_program: Reader) -> None:
    (project.parent / "secret.txt").write_text("here is <secret>", encoding="utf-8")
    spelled = [*TEXTS[:-2], *(f"({written}, @a.txt)" for written in OUTSIDE if "\0" not in written), "@../secret.txt"]
    assert read_by_the_program(escape_at_signs("\n".join([*spelled, *(f"\\\\{each}" for each in spelled)]))) == set()


def test_the_real_program_would_read_what_nobody_referred_to(read_by_the_program: Reader) -> None:
    assert read_by_the_program("@property bob@example.com") == {"property_test.py", "example.com.txt"}
