"""`install` writes the documented file of each client, keeps everything else in it, and removes its entry again."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from toolmason_runtime import server_files
from toolmason_runtime.install.changes import masked_yaml
from toolmason_runtime.install.clients import load_facts
from toolmason_runtime.install.command import main
from toolmason_runtime.install.errors import CannotEditError, FileSyntaxError
from toolmason_runtime.install.yaml_file import YamlEditor

PACKAGE = "workbench_server"
FACTS = load_facts(PACKAGE)
PROGRAM = str(Path(sys.executable).with_name("toolmason-workbench"))
ARGS = ["--root", "src"]
VSCODE = ".config/Code/User"


@dataclass(frozen=True)
class Row:
    """A client as its documentation describes it: the files of a user on Linux and of a project, and the entry."""

    user: str
    project: str
    servers: str
    entry: Mapping[str, Any]


def plain(**more: Any) -> dict[str, Any]:
    return {"command": "$command", "args": ARGS, **more}


LAUNCH = ["$command", *ARGS]
OPENCODE = {"type": "local", "command": LAUNCH, "enabled": True}
ROWS = {
    "claude-code": Row(".claude.json", ".mcp.json", "mcpServers", plain(type="stdio")),
    "codex": Row(".codex/config.toml", ".codex/config.toml", "mcp_servers", plain(required=True)),
    "gemini-cli": Row(".gemini/settings.json", ".gemini/settings.json", "mcpServers", plain()),
    "opencode": Row(".config/opencode/opencode.json", "opencode.json", "mcp", OPENCODE),
    "vscode": Row(f"{VSCODE}/mcp.json", ".vscode/mcp.json", "servers", plain(type="stdio")),
    "cursor": Row(".cursor/mcp.json", ".cursor/mcp.json", "mcpServers", plain(type="stdio")),
    "copilot-cli": Row(".copilot/mcp-config.json", ".github/mcp.json", "mcpServers", plain(type="local", tools=["*"])),
    "cline": Row(
        f"{VSCODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "",
        "mcpServers",
        plain(disabled=False),
    ),
    "cline-cli": Row(".cline/data/settings/cline_mcp_settings.json", "", "mcpServers", plain(disabled=False)),
    "continue": Row(".continue/config.yaml", "", "mcpServers", {"name": "workbench", **plain()}),
    "windsurf": Row(".codeium/windsurf/mcp_config.json", "", "mcpServers", plain()),
    "zed": Row(".config/zed/settings.json", ".zed/settings.json", "context_servers", plain(source="custom")),
    "goose": Row(
        ".config/goose/config.yaml",
        "",
        "extensions",
        {
            "type": "stdio",
            "name": "workbench",
            "description": "",
            "enabled": True,
            "cmd": "$command",
            "args": ARGS,
            "timeout": 300,
        },
    ),
    "kiro": Row(".kiro/settings/mcp.json", ".kiro/settings/mcp.json", "mcpServers", plain(disabled=False)),
    "kilo-code": Row(".config/kilo/kilo.json", "kilo.json", "mcp", OPENCODE),
    "kimi-code": Row(".kimi-code/mcp.json", ".kimi-code/mcp.json", "mcpServers", plain()),
    "antigravity": Row(".gemini/config/mcp_config.json", "", "mcpServers", plain()),
    "qwen-code": Row(".qwen/settings.json", ".qwen/settings.json", "mcpServers", plain(alwaysLoadTools=True)),
    "amp": Row(".config/amp/settings.json", ".amp/settings.json", "amp.mcpServers", plain()),
    "junie": Row(".junie/mcp/mcp.json", ".junie/mcp/mcp.json", "mcpServers", plain()),
    "lm-studio": Row(".lmstudio/mcp.json", "", "mcpServers", plain()),
    "roo-code": Row(
        f"{VSCODE}/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ".roo/mcp.json",
        "mcpServers",
        plain(disabled=False),
    ),
    "grok-build": Row(".grok/config.toml", ".grok/config.toml", "mcp_servers", plain()),
    "mcporter": Row(".mcporter/mcporter.json", "config/mcporter.json", "mcpServers", plain()),
    "mastra-code": Row(".mastracode/mcp.json", ".mastracode/mcp.json", "mcpServers", plain()),
    "pi": Row(".pi/agent/mcp.json", ".pi/mcp.json", "mcpServers", plain()),
    "fx": Row(".fx/mcp.json", "", "mcp", OPENCODE),
}
"""Without Claude Desktop, which does not exist on Linux."""
SCOPES = [(key, scope) for key, row in ROWS.items() for scope in ("user", "project") if scope == "user" or row.project]

PLAIN_JSON = """{
\t"theme" : "dark",
\t"KEY": {
\t\t"other": {"command": "x", "args": []}
\t},
\t"last": [1,2]
}
"""
JSONC = """// Ada's settings, "KEY": {}
{
    "theme": "dark", /* at night */
    "KEY": {
        // the other
        "other": {"command": "x", "args": ["a", ]}, // stays
    },
    "last": [1, 2,], // end
}
"""
TOML = """# Ada's settings
theme = 'dark' # at night

[KEY.other] # the other
command = "x"
args = [ "a", # first
]

[last] # end
x = 1
"""
YAML = """# Ada's settings
theme: dark   # at night
KEY:
    # the other
    other: &other   # stays
        command: x
        args: [a,   b]
        note: |
            # no comment

            KEY: {}

    # after

last: {x: 1, y: *other} # end
"""
YAML_LIST = """# Ada's settings
theme: dark   # at night
KEY:
# the other
- name: "other"   # stays
  command: x
  args:
    - a # first
# after

last: {x: 1}
"""


def existing(client: str, path: Path) -> str:
    """Return a person's file with another server."""
    facts = FACTS.clients[client]
    text = JSONC
    if path.suffix == ".toml":
        text = TOML
    elif path.suffix == ".yaml":
        text = YAML_LIST if facts.is_list else YAML
    elif {"comments", "trailing commas"} & set(facts.rejects):
        text = PLAIN_JSON
    return text.replace("KEY", ROWS[client].servers)


def data(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    if path.suffix == ".yaml":
        return yaml.safe_load(text)
    from toolmason_runtime.install import jsonc

    return jsonc.load(text)


def servers(client: str, path: Path) -> dict[str, Any]:
    value = data(path).get(ROWS[client].servers, {})
    return {entry["name"]: entry for entry in value} if isinstance(value, list) else dict(value)


def test_each_client_has_a_row() -> None:
    assert {*ROWS, "claude-desktop"} == set(FACTS.clients)
    assert len(ROWS) >= 20


def test_the_page_lists_each_client_with_its_files() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "install.md").read_text(encoding="utf-8")
    table = page.partition("| file of the user |")[2].partition("\n\n")[0]
    rows: dict[str, str] = dict(re.findall(r"^\| `([a-z-]+)` \| [^|]+ \|(.+)$", table, re.MULTILINE))
    assert list(rows) == sorted(FACTS.clients)
    for key, row in ROWS.items():
        assert f"`{row.project}`" in rows[key] if row.project else "| none |" in rows[key]
        assert f"`~/{row.user}`" in rows[key] or "VS Code" in rows[key]


@pytest.mark.parametrize(("client", "scope"), SCOPES)
@pytest.mark.parametrize("file", ["new", "existing", "with CRLF"])
def test_a_server_is_added_once_and_removed_without_a_trace(
    home: Path, started: list[list[str]], client: str, scope: str, file: str
) -> None:
    row = ROWS[client]
    path = home / row.user if scope == "user" else home / "project" / row.project
    path.parent.mkdir(parents=True, exist_ok=True)
    if file != "new":
        text = existing(client, path)
        path.write_bytes((text.replace("\n", "\r\n") if file == "with CRLF" else text).encode())
    before = path.read_bytes() if path.exists() else b""
    others = servers(client, path) if before else {}
    arguments = [client, "--scope", scope, "--no-skills"]

    assert main([*arguments, "--", *ARGS], package=PACKAGE) == 0

    command = PROGRAM if scope == "user" else "toolmason-workbench"
    assert started == [[command, *ARGS]]
    expected = json.loads(json.dumps(row.entry).replace("$command", command))
    entry = servers(client, path)["workbench"]
    assert entry | expected == entry
    assert servers(client, path) == {**others, "workbench": entry}
    assert set(entry) - set(expected) <= {"env", "env_vars", "tool_timeout_sec"}
    installed = path.read_bytes()
    assert (b"\r\n" in installed) is (b"\n" not in installed.replace(b"\r\n", b"")) is (file == "with CRLF")

    assert main([*arguments, "--", *ARGS], package=PACKAGE) == 0
    assert path.read_bytes() == installed

    assert main([*arguments, "--uninstall"], package=PACKAGE) == 0
    assert path.read_bytes() == before if before else not servers(client, path)


@pytest.mark.parametrize("client", ROWS)
def test_a_file_that_cannot_be_edited_stays_and_the_entry_is_printed(
    home: Path, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ROWS[client].user
    path.parent.mkdir(parents=True, exist_ok=True)
    for broken in ("{", "a: [", "[a\n", "\ufffe"):
        path.write_text(broken, encoding="utf-8")
        assert main([client, "--", *ARGS], package=PACKAGE) == 4
        error = capsys.readouterr().err
        assert re.search(rf"{re.escape(str(path))}:\d+:\d+: ", error)
        assert "This is the entry:" in error
        assert PROGRAM in error.partition("This is the entry:")[2]
        assert path.read_text(encoding="utf-8") == broken


@pytest.mark.parametrize("client", [*ROWS, "claude-desktop", "", "some-other-client"])
def test_the_entry_is_printed_for_any_client(home: Path, client: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*([client] if client else []), "--print", "--", *ARGS], package=PACKAGE) == 0
    output, error = capsys.readouterr()
    assert PROGRAM in output
    if client not in FACTS.clients:
        assert json.loads(output) == {"mcpServers": {"workbench": {"command": PROGRAM, "args": ARGS}}}
        assert "Most clients read this form" in error
    assert [file for file in home.rglob("*") if file.is_file()] == []


@pytest.mark.parametrize(
    ("client", "user", "project"),
    [
        ("claude-code", "~/.claude.json", ".mcp.json"),
        ("copilot-cli", "~/.copilot/mcp-config.json", ".github/mcp.json"),
        ("cline-cli", "~/.cline/data/settings/cline_mcp_settings.json", "cline_mcp_settings.json"),
        ("continue", "~/.continue/config.yaml", "config.yaml"),
        ("codex", "~/.codex/config.toml", ".codex/config.toml"),
    ],
)
@pytest.mark.usefixtures("home")
def test_the_file_of_a_printed_entry_is_that_of_its_scope(
    client: str, user: str, project: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for scope, path in (("user", user), ("project", project)):
        assert main([client, "--print", "--scope", scope], package=PACKAGE) == 0
        assert capsys.readouterr().err == f"{FACTS.clients[client].title}: {path}\n"


def test_the_printed_entry_of_a_project_has_no_path_of_this_machine(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--print", "--scope", "project", "--", "--root", str(home / "project" / "src")]
    assert main(options, package=PACKAGE) == 0
    entry = {"command": "toolmason-workbench", "args": ["--root", "src"]}
    assert json.loads(capsys.readouterr().out) == {"mcpServers": {"workbench": entry}}


WRONG = {
    "windsurff": "unknown client `windsurff` (did you mean `windsurf`?): claude-code, ",
    "": "name a client: claude-code, ",
    "zed --all": "use CLIENT, --all, or --print with or without CLIENT",
    "--all --print": "use CLIENT, --all, or --print with or without CLIENT",
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.items())
def test_a_wrong_client_is_an_error_of_usage(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments.split(), package=PACKAGE)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_other_names_of_a_client_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("github-copilot-cli", "kiro-cli", "kilo", "kimi", "qwen", "gemini", "grok", "codeium"):
        assert main([name, "--print"], package=PACKAGE) == 0
        assert "Most clients" not in capsys.readouterr().err


def test_all_installs_in_each_client_that_is_found(
    home: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    for directory in (".codex", ".kiro", ".config/zed", ".claude", ".gemini/antigravity"):
        (home / directory).mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text("[", encoding="utf-8")

    assert main(["--all"], package=PACKAGE) == 4

    output, error = capsys.readouterr()
    assert output.endswith("4 of 5 clients: Claude Code, Zed, Kiro, Antigravity\n")
    assert ".codex/config.toml:1:2: " in error
    assert len(started) == 4
    assert "workbench" in servers("zed", home / ".config/zed/settings.json")
    assert "workbench" in servers("kiro", home / ".kiro/settings/mcp.json")
    assert not (home / ".gemini/settings.json").exists()

    (home / ".codex" / "config.toml").unlink()
    assert main(["--all", "--uninstall"], package=PACKAGE) == 0
    assert not servers("zed", home / ".config/zed/settings.json")


@pytest.mark.usefixtures("started")
def test_all_in_a_project_writes_the_files_of_clients_that_have_one(home: Path) -> None:
    for directory in (".kiro", ".config/zed", ".codeium/windsurf"):
        (home / directory).mkdir(parents=True)
    assert main(["--all", "--scope", "project", "--no-skills"], package=PACKAGE) == 0
    files = {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file()}
    assert files == {"project/.kiro/settings/mcp.json", "project/.zed/settings.json"}


@pytest.mark.usefixtures("home")
def test_all_without_a_client_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--all"], package=PACKAGE) == 4
    assert "no known client is installed" in capsys.readouterr().err


SKILLS = {
    "codex": (".agents/skills", ".agents/skills"),
    "copilot-cli": (".agents/skills", ".copilot/skills"),
    "cline-cli": ("", ".agents/skills"),
    "junie": (".junie/skills", ".junie/skills"),
    "roo-code": (".roo/skills", ".roo/skills"),
}


@pytest.mark.parametrize(
    ("client", "scope"),
    [(key, scope) for key in SKILLS for scope in ("project", "user") if scope == "user" or SKILLS[key][0]],
)
def test_a_client_without_prompts_gets_skills(
    home: Path, client: str, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ROWS[client].user).parent.mkdir(parents=True, exist_ok=True)
    files = server_files(PACKAGE)
    directory = home / SKILLS[client][1] if scope == "user" else home / "project" / SKILLS[client][0]

    assert main([client, "--scope", scope], package=PACKAGE, server_files=files) == 0

    names = {path.parent.name for path in (files / "skills").glob("*/SKILL.md")}
    assert {path.parent.name for path in directory.glob("*/SKILL.md")} == names
    assert f"Wrote skills in {directory}: workbench, " in capsys.readouterr().out
    edited = directory / "workbench-review" / "SKILL.md"
    edited.write_text(edited.read_text(encoding="utf-8") + "And in Latin.\n", encoding="utf-8")

    assert main([client, "--scope", scope, "--uninstall"], package=PACKAGE, server_files=files) == 0
    assert [path for path in directory.rglob("*") if path.is_file()] == [edited]
    assert f"Left {edited}: it was edited." in capsys.readouterr().out
    assert [path.name for path in directory.iterdir()] == ["workbench-review"]


@pytest.mark.usefixtures("started")
def test_skills_that_another_client_uses_remain(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = server_files(PACKAGE)
    for client in ("codex", "cline-cli"):
        (home / ROWS[client].user).parent.mkdir(parents=True)
        assert main([client], package=PACKAGE, server_files=files) == 0
    assert main(["codex", "--uninstall"], package=PACKAGE, server_files=files) == 0
    assert "which Cline CLI uses" in capsys.readouterr().out
    assert (home / ".agents/skills/workbench/SKILL.md").is_file()
    assert main(["cline-cli", "--uninstall"], package=PACKAGE, server_files=files) == 0
    assert not list((home / ".agents/skills").iterdir())


@pytest.mark.parametrize("client", ["claude-code", "zed", "lm-studio"])
@pytest.mark.usefixtures("started")
def test_other_clients_get_no_skills(home: Path, client: str) -> None:
    (home / ROWS[client].user).parent.mkdir(parents=True, exist_ok=True)
    assert main([client], package=PACKAGE, server_files=server_files(PACKAGE)) == 0
    assert not list(home.rglob("SKILL.md"))


@pytest.mark.usefixtures("started")
def test_skills_can_be_left_out(home: Path) -> None:
    (home / ".codex").mkdir()
    assert main(["codex", "--no-skills"], package=PACKAGE, server_files=server_files(PACKAGE)) == 0
    assert not list(home.rglob("SKILL.md"))
    assert [path.name for path in (home / ".codex").iterdir()] == ["config.toml"]


ENTRY = {"cmd": "/opt/bin/x", "args": ["--root", "no"], "enabled": True, "timeout": 300, "empty": []}
BLOCK = """  w:
    cmd: "/opt/bin/x"
    args:
      - "--root"
      - "no"
    enabled: true
    timeout: 300
    empty: []
"""
LAYOUTS = {
    "an empty file": ("", f"extensions:\n{BLOCK}"),
    "comments only": ("# mine", f"# mine\nextensions:\n{BLOCK}"),
    "another key": ("a: 1\n# end\n", f"a: 1\n# end\nextensions:\n{BLOCK}"),
    "no line end": ("a: 1", f"a: 1\nextensions:\n{BLOCK}"),
    "no value": ("extensions:  # mine\nb: 2\n", f"extensions:  # mine\n{BLOCK}b: 2\n"),
    "null": ("extensions: ~ # mine\nb: 2\n", f"extensions: # mine\n{BLOCK}b: 2\n".replace(": #", ": #")),
    "an empty mapping": ("extensions: {}\nb: 2\n", f"extensions:\n{BLOCK}b: 2\n"),
    "an entry": ("extensions:\n  a:\n    x: 1\n\n# b\nb: 2\n", f"extensions:\n  a:\n    x: 1\n{BLOCK}\n# b\nb: 2\n"),
    "an entry at the end": ("extensions:\n  a: {x: 1}", f"extensions:\n  a: {{x: 1}}\n{BLOCK}"),
    "a text of several lines": (
        "extensions:\n  a:\n    x: |\n      one\n      # two\nb: 2\n",
        f"extensions:\n  a:\n    x: |\n      one\n      # two\n{BLOCK}b: 2\n",
    ),
    "an anchor elsewhere": ("d: &d {x: 1}\nextensions:\n  a: *d\n", f"d: &d {{x: 1}}\nextensions:\n  a: *d\n{BLOCK}"),
    "a document mark": ("---\nextensions:\n  a: {}\n", f"---\nextensions:\n  a: {{}}\n{BLOCK}"),
    "tags and dates": ("t: !x 1\nd: 2026-01-01\n", f"t: !x 1\nd: 2026-01-01\nextensions:\n{BLOCK}"),
}


@pytest.mark.parametrize(("before", "after"), LAYOUTS.values(), ids=LAYOUTS)
def test_yaml_is_edited_by_lines(before: str, after: str) -> None:
    editor = YamlEditor()
    installed = editor.merge(before, {"extensions": {"w": ENTRY}})
    assert installed == after
    assert editor.merge(installed, {"extensions": {"w": ENTRY}}) == installed
    assert editor.load(installed)["extensions"]["w"] == ENTRY
    assert editor.comments(installed) == editor.comments(before)
    removed = editor.load(editor.remove(installed, ("extensions", "w")))
    assert {**removed, "extensions": removed["extensions"] or None} == {"extensions": None, **editor.load(before)} | (
        {} if editor.load(before).get("extensions") else {"extensions": None}
    )


def test_without_pyyaml_the_file_stays_and_the_entry_is_printed(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (home / ".continue").mkdir()
    assert main(["continue"], package=PACKAGE) == 4
    assert "PyYAML is not installed; without it YAML cannot be edited\nThis is the entry:\n" in capsys.readouterr().err
    assert not list((home / ".continue").iterdir())


def test_an_entry_in_yaml_is_updated_and_replaced() -> None:
    editor = YamlEditor(is_list=True)
    text = "s:\n# one\n- name: w\n  command: old\n  mine: 1\n# two\n- {name: v}\n"
    merged = editor.merge(text, {"s": {"w": {"command": "new"}}})
    assert merged == "s:\n# one\n- name: w\n  command: new\n  mine: 1\n# two\n- {name: v}\n"
    replaced = editor.replace(text, ("s", "v"), {"command": "new"})
    assert replaced == "s:\n# one\n- name: w\n  command: old\n  mine: 1\n# two\n- name: v\n  command: new\n"
    assert editor.remove(text, ("s", "w")) == "s:\n# one\n# two\n- {name: v}\n"
    assert editor.remove("s: # c\n- name: w\nb: 1\n", ("s", "w")) == "s: [] # c\nb: 1\n"


UNSAFE = {
    "flow style": ("s: {a: {x: 1}}\n", "not written as a block"),
    "an alias": ("a: &a\n  x: {y: 1}\ns: *a\n", "alias of another part"),
    "a number": ("s: 5\n", "not written as a block"),
    "a list": ("s:\n- name: a\n", "must be a mapping"),
    "a date to be written again": ("s:\n  w:\n    d: 2026-01-01\n", "has a tag"),
}


@pytest.mark.parametrize(("text", "message"), UNSAFE.values(), ids=UNSAFE)
def test_an_unusual_layout_of_yaml_is_refused(text: str, message: str) -> None:
    with pytest.raises(CannotEditError, match=message):
        YamlEditor().merge(text, {"s": {"w": ENTRY}})


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{key}: &{key} [{', '.join(['*' + last] * 10)}]\n" for last, key in zip("abcdefgh", "bcdefghi", strict=True)
)
INVALID = {
    "a key twice": ("a: 1\nb:\n  c: 1\n  c: 2\n", '4:3: the key "c" is there twice'),
    "a tab": ("a:\n\t- 1\n", "2:1: not YAML: "),
    "an open list": ("a: [1\n", "2:1: not YAML: "),
    "two documents": ("a: 1\n---\nb: 2\n", "2:1: not YAML: "),
    "a list": ("- a\n", "1:1: the file must contain a mapping"),
    "a control character": ("a: \x01\n", "1:4: not YAML: the character '\\x01'"),
    "aliases without end": (BOMB, ": the file has more than 100000 values"),
    "brackets without end": ("a: " + "[" * 5000, "1:1: values nest too deeply"),
    "an alias of itself": ("a: &a [*a]\n", "nest too deeply"),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_invalid_yaml_is_refused_with_its_position(text: str, message: str) -> None:
    with pytest.raises(FileSyntaxError) as caught:
        YamlEditor().load(text)
    assert message in str(caught.value)


def test_credentials_in_yaml_are_masked() -> None:
    text = """# mine
a: secret1 # note
b: "secret2"
"c d":   secret3#x
list: # of
  - secret4
  - k: secret5
    args: [secret6]
    url: https://u:secret7@x
text: |
  secret8
   secret9: x
n: 5
t: true
e: {}
keep: shown
"""
    result = masked_yaml(text, {"shown"})
    assert "secret" not in result
    assert result.count("\n") == text.count("\n")
    for line in ("# mine", 'a: "***" # note', "list: # of", "text: |", "n: 5", "t: true", "e: {}", "keep: shown"):
        assert line in result.split("\n")


@pytest.mark.usefixtures("started")
def test_credentials_in_yaml_are_not_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".config/goose/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("extensions:\n  o:\n    cmd: x\n    envs:\n      KEY: sk-1\nafter: sk-2\n", encoding="utf-8")
    assert main(["goose"], package=PACKAGE) == 0
    output = capsys.readouterr().out
    assert "+    cmd: " in output
    assert PROGRAM in output
    assert "sk-" not in output
