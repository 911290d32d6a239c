"""The rules of profiles are complete data, and each finds the manifests that its place rejects."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.diagnostics.rules import RULES
from toolmason.project import Project
from toolmason.publishing import profiles
from toolmason.publishing.checks import CHECKS
from toolmason.publishing.names import PLACES, PROFILES
from toolmason.publishing.places import places
from toolmason.publishing.profiles import ProfileRule, find_rule, load_profile

EVERY_RULE = [rule for name in PROFILES for rule in load_profile(name).rules]


def lint(project: Project, *profiles: str, layout: str = "json") -> Result:
    options = [part for name in profiles for part in ("--profile", name)]
    return CliRunner().invoke(
        toolmason, ["lint", *options, "--format", layout, "--manifest", str(project.manifest)], catch_exceptions=False
    )


def findings(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def codes(project: Project, profile: str) -> set[str]:
    """Return the codes of the violations of a profile, or of the errors of the manifest."""
    found = findings(lint(project, profile))
    return {
        str(row["code"])
        for row in found
        if not str(row["message"]).startswith("check yourself")
        if str(row["code"]).startswith((f"{profile}/", "TM1", "TM2", "TM3", "TM4", "TM51"))
    } - {"TM513", "TM511", "TM512"}


# The data


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: rule.code)
def test_a_rule_has_a_requirement_a_fix_and_a_dated_source(rule: ProfileRule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
    assert rule.requires[0].isupper() or rule.requires[0] == "`"
    assert not rule.requires.endswith(".")
    assert rule.fix
    assert rule.source.startswith("https://")
    assert dt.date(2026, 11, 1) <= rule.read <= dt.datetime.now(tz=dt.UTC).date()
    assert not (rule.check and rule.enforced_by)
    assert rule.check in {"", *CHECKS}
    assert rule.enforced_by in {"", *RULES}
    assert set(re.findall(r"\{(\w+)\}", rule.fix + rule.requires)) <= {"name", "command", "version", "registry_name"}


def test_codes_of_rules_are_unique_and_every_check_is_used() -> None:
    rule_codes = [rule.code for rule in EVERY_RULE]

    assert len(rule_codes) == len(set(rule_codes))
    assert {rule.check for rule in EVERY_RULE} - {""} == set(CHECKS)


def test_each_file_of_the_profiles_and_each_place_is_named() -> None:
    directory = Path(profiles.__file__).with_name("profiles")

    assert {path.stem for path in directory.glob("*.toml")} == set(PROFILES)
    assert set(places()) == set(PLACES)
    assert set(PROFILES) <= set(PLACES)


def test_explain_prints_a_rule_with_its_source() -> None:
    rule = find_rule("mcp-registry/version")
    result = CliRunner().invoke(toolmason, ["explain", "mcp-registry/version"])

    assert rule is not None
    assert result.stdout.startswith(f"mcp-registry/version: {rule.requires}.\n\nFix: ")
    assert f"Source: {rule.source}, read {rule.read}\n" in result.stdout
    assert CliRunner().invoke(toolmason, ["explain", "mcp-registry/versoin"]).exit_code == 2


# The checks


@pytest.mark.parametrize("profile", PROFILES)
def test_a_project_that_fulfils_every_rule_has_no_findings(profile: str, published: Project) -> None:
    assert codes(published, profile) == set()


ICON = '\n[[server.icons]]\nsrc = "https://notes.example/icon.png"\n'
VIOLATIONS: dict[str, list[tuple[str, str]]] = {
    # MCP Registry
    "mcp-registry/name": [('registry_name = "io.github.ada/notes"\n', "")],
    "mcp-registry/name-form": [
        ("io.github.ada/notes", "-ada/notes"),
        ("io.github.ada/notes", "io.github.ada/notes-"),
        ("io.github.ada/notes", "io.github.ada/_notes"),
        ("io.github.ada/notes", "io.github.ada./notes"),
        ("io.github.ada/notes", "io.github.ada/n"),
    ],
    "mcp-registry/namespace": [
        ("io.github.ada/notes", "io.github.grace/notes"),
        ("io.github.ada/notes", "io.github.ada-lovelace/notes"),
        ("https://github.com/ada/notes", "https://github.com/grace/notes"),
        ("https://github.com/ada/notes", "https://www.github.com/analytical-engines/notes/"),
        ("io.github.ada/notes", "IO.GITHUB.grace/notes"),
    ],
    "mcp-registry/description": [('summary = "Measure texts"\nauthor', "author")],
    "mcp-registry/version": [
        ('version = "0.1.0"', 'version = "latest"'),
        ('version = "0.1.0"', 'version = "Latest"'),
        ('version = "0.1.0"', 'version = "^1.2.3"'),
        ('version = "0.1.0"', 'version = ">=1.0"'),
        ('version = "0.1.0"', 'version = "1.x"'),
        ('version = "0.1.0"', 'version = "1.2.*"'),
        ('version = "0.1.0"', 'version = "1.0 - 2.0"'),
        ('version = "0.1.0"', 'version = "1.2 || 1.3"'),
    ],
    "mcp-registry/package": [('distribution = "notes"\nregistry_name = "io.github.ada/notes"\n', "")],
    "mcp-registry/repository": [
        ("https://github.com/ada/notes", "https://codeberg.org/ada/notes"),
        ("https://github.com/ada/notes", "https://github.com/ada"),
        ("https://github.com/ada/notes", "https://github.com/ada/notes/tree/main/server"),
        ("https://github.com/ada/notes", "https://bitbucket.org/ada/notes"),
        ("https://github.com/ada/notes", "https://github.example/ada/notes"),
    ],
    "mcp-registry/website": [
        ('title = "Notes"', 'title = "Notes"\nwebsite_url = "http://notes.example"'),
        ('title = "Notes"', 'title = "Notes"\nwebsite_url = "notes.example"'),
        ('title = "Notes"', 'title = "Notes"\nwebsite_url = "/notes"'),
        ('title = "Notes"', 'title = "Notes"\nwebsite_url = "ftp://notes.example"'),
        ('title = "Notes"', 'title = "Notes"\nwebsite_url = "https://"'),
    ],
    "mcp-registry/icon-address": [
        ('src = "https://notes.example/icon.png"', 'src = "data:image/png;base64,iVBORw0KGgo="')
    ],
    "mcp-registry/secrets": [
        (ICON, f'{ICON}\n[server.options.{name}]\ndescription = "Secret"\n{keys}')
        for name, keys in {
            "api-key": "",
            "token": "required = true\n",
            "password": "",
            "github-token": 'env = "GITHUB"\n',
            "account": 'env = "NOTES_SECRET"\n',
            "credentials": "many = true\n",
        }.items()
    ],
    "TM205": [('Measure texts"\nauthor', f'{"Measure texts " * 8}"\nauthor')],
    "TM405": [('distribution = "notes"', 'distribution = "notes-server"')],
    # Claude directory
    "claude-directory/tool-title": [('title = "Count words"\n', "")],
    "claude-directory/tool-hints": [
        ("hints = { read_only = true, open_world = false }", "hints = { open_world = false }"),
        ("hints = { read_only = true, open_world = false }", "hints = { read_only = false }"),
        ("hints = { read_only = true, open_world = false }", "hints = { destructive = true }"),
        ("hints = { read_only = true, open_world = false }", "hints = { idempotent = true }"),
    ],
    "claude-directory/tool-hint-true": [
        ("[tools.count_words]", f"[tools.{name}]")
        for name in (
            "delete_words",
            "update_text",
            "send_mail",
            "createNote",
            "publishPage",
            "slack_post",
            "issue_close",
        )
    ],
    "TM311": [('style = "classic"', f'style = "classic"\nprefix = "{"p" * length}_"') for length in (53, 60, 80)],
    "claude-directory/read-and-write": [
        ('style = "classic"', f'style = "{style}"')
        for style in ("search-call", "list-describe", "discover-schema", "code")
    ],
    "claude-directory/http-method": [
        *(("params.text", f"params.{name}") for name in ("method", "http_method", "httpMethod", "verb")),
        ('description = "The text"', 'description = "The text", enum = ["get", "post"]'),
        ('description = "The text"', 'description = "The text", enum = ["GET", "PATCH", "DELETE"]'),
    ],
    "claude-directory/privacy-policy": [('privacy_policy = "https://notes.example/privacy"\n', "")],
    "claude-directory/author": [('author = "Ada"\n', "")],
    "claude-directory/description": [('summary = "Measure texts"\nauthor', "author")],
    "claude-directory/package": [('distribution = "notes"\nregistry_name = "io.github.ada/notes"\n', "")],
    "claude-directory/version": [
        ('version = "0.1.0"', f'version = "{version}"') for version in ("1", "1.2", "1.0.0rc1", "v1.2.3", "1.02.3")
    ],
    "claude-directory/icon": [(ICON, "\n")],
    "TM510": [("read_only = true, open_world", "read_only = true, destructive = true, open_world")],
    # ChatGPT apps
    "openai-apps/tool-hints": [
        ("hints = { read_only = true, open_world = false }", "hints = { read_only = true }"),
        ("hints = { read_only = true, open_world = false }", "hints = { read_only = false, destructive = false }"),
        ("hints = { read_only = true, open_world = false }", "hints = { read_only = false, open_world = false }"),
        ("hints = { read_only = true, open_world = false }", "hints = { destructive = false, open_world = true }"),
    ],
    "openai-apps/tool-hint-true": [("[tools.count_words]", "[tools.cancel_order]")],
    "openai-apps/tool-listed": [('style = "classic"', 'style = "search-call"')],
    "openai-apps/tool-name": [
        ("[tools.count_words]", f"[tools.{name}]")
        for name in ("best_search", "official_count", "pick_me", "the_ultimate_counter", "countOfficial")
    ],
    "openai-apps/no-credentials": [
        ("params.text", f"params.{name}")
        for name in (
            *("password", "api_key", "user_password", "otp", "access_token", "userPassword", "githubApiKey"),
            *("private_key", "credentials", "clientSecret", "mfa_code", "oneTimeCode", "bearer_token", "auth_token"),
        )
    ],
    "openai-apps/no-restricted-data": [
        ("params.text", f"params.{name}")
        for name in ("card_number", "cvv", "ssn", "passport_number", "patient_id", "customerSsn", "cardNumber")
    ],
    "openai-apps/no-chat-log": [
        ("params.text", f"params.{name}")
        for name in ("conversation", "conversation_history", "chat_history", "transcript", "message_history")
    ],
    "openai-apps/no-location": [
        ("params.text", f"params.{name}") for name in ("latitude", "lng", "user_lat", "gps", "home_address")
    ],
    "openai-apps/description": [('summary = "Measure texts"\nauthor', "author")],
    "openai-apps/privacy-policy": [('privacy_policy = "https://notes.example/privacy"\n', "")],
    # Gemini CLI
    "gemini-extension/version": [
        ('version = "0.1.0"', f'version = "{version}"') for version in ("1", "1.2", "1.0.0rc1", "latest", "2026.11")
    ],
    "gemini-extension/description": [('summary = "Measure texts"\nauthor', "author")],
    "gemini-extension/repository": [('repository = "https://github.com/ada/notes"\n', "")],
    "gemini-extension/repository-github": [("https://github.com/ada/notes", "https://gitlab.com/ada/notes")],
    "gemini-extension/package": [('distribution = "notes"\nregistry_name = "io.github.ada/notes"\n', "")],
    "gemini-extension/secrets": [(ICON, f'{ICON}\n[server.options.token]\ndescription = "Secret"\n')],
    "gemini-extension/required-options": [
        (ICON, f'{ICON}\n[server.options.root]\ndescription = "Directory"\nrequired = true\n')
    ],
    # Docker
    "docker-catalog/title": [('title = "Notes"\n', "")],
    "docker-catalog/title-words": [
        ('title = "Notes"', f'title = "{title}"')
        for title in ("Notes MCP", "Notes Server", "MCP Notes", "NotesMCP", "Server")
    ],
    "docker-catalog/title-capitals": [
        ('title = "Notes"', f'title = "{title}"')
        for title in ("notes", "Notes of ada", "My notes", "the Notes", "Notes with Ada")
    ],
    "docker-catalog/description": [('summary = "Measure texts"\nauthor', "author")],
    "docker-catalog/licence": [('license = "MIT"\n', "")],
    "docker-catalog/licence-permits": [
        ('license = "MIT"', f'license = "{name}"')
        for name in ("GPL-3.0-only", "AGPL-3.0-or-later", "gpl-2.0", "NPL-1.1", "MIT OR GPL-3.0-only")
    ],
    "docker-catalog/repository": [('repository = "https://github.com/ada/notes"\n', "")],
    "docker-catalog/repository-github": [
        ("https://github.com/ada/notes", "https://gitlab.com/ada/notes"),
        ("https://github.com/ada/notes", "https://github.com/ada/notes/tree/main"),
    ],
    "docker-catalog/package": [('distribution = "notes"\nregistry_name = "io.github.ada/notes"\n', "")],
    "docker-catalog/secrets": [(ICON, f'{ICON}\n[server.options.token]\ndescription = "Secret"\n')],
    "docker-catalog/icon": [(ICON, "\n")],
    # Smithery
    "smithery/name": [
        ('name = "notes"', f'name = "{name}"\ncommand = "notes"') for name in ("n", "no", "n" * 40, "notes-" * 7)
    ],
    "smithery/description": [('summary = "Measure texts"\nauthor', "author")],
    "smithery/package": [('distribution = "notes"\nregistry_name = "io.github.ada/notes"\n', "")],
    "smithery/secrets": [(ICON, f'{ICON}\n[server.options.token]\ndescription = "Secret"\n')],
    "smithery/tool-listed": [('style = "classic"', 'style = "search-call"')],
    "smithery/lists-without-secrets": [
        (
            ICON,
            f'{ICON}\n[server.options.token]\ndescription = "T"\nenv = "NOTES_TOKEN"\nsecret = true\nrequired = true\n',
        )
    ],
    # npm
    "npm/package": [('distribution = "notes"\nregistry_name = "io.github.ada/notes"\n', "")],
    "npm/version": [
        ('version = "0.1.0"', f'version = "{version}"')
        for version in ("latest", "1.0.post1", "1!1.0", "1.2.3.4", "1.0+local")
    ],
    "npm/description": [('summary = "Measure texts"\nauthor', "author")],
    "npm/licence": [('license = "MIT"\n', "")],
    "npm/ownership": [('registry_name = "io.github.ada/notes"\n', "")],
}
"""Code -> changes of the manifest that a place rejects: the old text and the new one."""
PROFILE_OF = {
    "TM311": "claude-directory",
    "TM205": "mcp-registry",
    "TM405": "mcp-registry",
    "TM510": "claude-directory",
}


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [(code, *change) for code, changes in VIOLATIONS.items() for change in changes],
    ids=[f"{code}-{number}" for code, changes in VIOLATIONS.items() for number, _ in enumerate(changes)],
)
def test_a_manifest_that_a_place_rejects_has_a_finding_at_its_line(
    code: str, old: str, new: str, published: Project
) -> None:
    text = published.manifest.read_text(encoding="utf-8")
    changed = text.replace(old, new)
    assert changed != text
    if code == "claude-directory/read-and-write":
        changed = changed.replace("read_only = true, open_world", "read_only = false, destructive = true, open_world")
    published.manifest.write_text(changed, encoding="utf-8")

    profile = PROFILE_OF.get(code) or code.partition("/")[0]
    found = [row for row in findings(lint(published, profile)) if row["code"] == code]

    assert found, codes(published, profile)
    row = found[0]
    assert row["path"] == "manifest/notes.toml"
    assert row["hint"]
    assert 1 <= int(str(row["line"])) <= len(changed.splitlines())


FILES: dict[str, Callable[[Path], object]] = {
    "mcp-registry/ownership": lambda root: (root / "README.md").write_text("# Notes\n", encoding="utf-8"),
    "mcp-registry/same-version": lambda root: (root / "pyproject.toml").write_text(
        '[project]\nname = "notes"\nversion = "0.2.0"\nscripts.notes = "notes_server:main"\n', encoding="utf-8"
    ),
    "claude-directory/privacy-readme": lambda root: (root / "README.md").write_text("# Notes\n", encoding="utf-8"),
    "claude-directory/examples": lambda root: (root / "README.md").unlink(),
    "claude-directory/support": lambda root: (root / "README.md").write_text("# Notes\n", encoding="utf-8"),
    "claude-directory/license-file": lambda root: (root / "LICENSE").unlink(),
    "docker-catalog/dockerfile": lambda root: (root / "Dockerfile").unlink(),
    "docker-catalog/commit": lambda root: (root / ".git" / "HEAD").unlink(),
}
"""Code -> a change of another file of the project."""


@pytest.mark.parametrize("code", FILES)
def test_a_missing_file_or_section_is_found(code: str, published: Project) -> None:
    FILES[code](published.root)

    assert code in codes(published, code.partition("/")[0])


@pytest.mark.parametrize(
    "marker",
    [
        "mcp-name: io.github.ada/notes-evil",
        "mcp-name: io.github.ada/notes.",
        "`mcp-name: io.github.ada/notes`",
        "(mcp-name: io.github.ada/notes)",
        "mcp-name: io.github.ada/notes, the server",
        "mcp-name:io.github.ada/notes",
        "mcp-name: io.github.Ada/notes",
        "io.github.ada/notes",
    ],
)
def test_a_mark_in_the_readme_must_end_after_the_name(marker: str, published: Project) -> None:
    (published.root / "README.md").write_text(f"# Notes\n{marker}\n", encoding="utf-8")

    assert "mcp-registry/ownership" in codes(published, "mcp-registry")


@pytest.mark.parametrize(
    ("profile", "old", "new"),
    [
        *(
            ("openai-apps", "params.text", f"params.{name}")
            for name in ("secret_name", "password_length", "otp_enabled", "page_token", "secretArn", "key")
        ),
        *(
            ("openai-apps", "count_words", name)
            for name in ("get_top_stories", "getTopHeadlines", "list_unofficial_names", "bestow", "stop_count_list")
        ),
        *(
            ("claude-directory", "count_words", name)
            for name in ("get_commit", "list_posts", "read_post", "searchCommits", "count_locks", "gitLog", "postal")
        ),
        *(
            ("claude-directory", 'params.text = { type = "string", ', f'params.{name} = {{ type = "string", {values}, ')
            for name, values in {
                "method": 'enum = ["card", "cash"]',
                "http_method": 'enum = ["GET", "HEAD"]',
                "verb": 'enum = ["be", "have"]',
                "action": 'enum = ["post", "publish"]',
            }.items()
        ),
        ("openai-apps", 'style = "classic"', 'style = "search-call"\npinned = ["count_words"]'),
        ("smithery", 'style = "classic"', 'style = "search-call"\npinned = ["count_words"]'),
    ],
)
def test_names_that_a_place_accepts_have_no_finding(profile: str, old: str, new: str, published: Project) -> None:
    text = published.manifest.read_text(encoding="utf-8")
    assert old in text
    published.manifest.write_text(text.replace(f"text:{old}", "KEPT").replace(old, new).replace("KEPT", f"text:{old}"))

    assert codes(published, profile) == set()


@pytest.mark.parametrize(
    "marker",
    [
        "<!-- mcp-name: io.github.ada/notes-->",
        "<!-- mcp-name: io.github.ada/notes -->",
        "<p>mcp-name: io.github.ada/notes</p>",
        "Its mcp-name: io.github.ada/notes is public",
        "mcp-name: io.github.ada/notes",
    ],
)
def test_a_mark_ends_with_a_space_a_tag_or_a_comment(marker: str, published: Project) -> None:
    (published.root / "README.md").write_text(f"# Notes\n{marker}", encoding="utf-8")

    assert codes(published, "mcp-registry") == set()


def test_every_rule_that_is_checked_has_a_violation_in_these_tests() -> None:
    checked = {rule.code for rule in EVERY_RULE if rule.check}
    without = {"mcp-registry/title-length", "docker-catalog/parameter-description"}  # as the next test

    assert checked - set(VIOLATIONS) - set(FILES) == without


def test_a_long_title_and_an_undescribed_parameter_are_found(published: Project) -> None:
    text = published.manifest.read_text(encoding="utf-8")
    changed = text.replace('title = "Notes"', f'title = "{"Notes " * 20}Ada"')
    raw = """
[tools.raw]
title = "Raw"
summary = "Take any text"
category = "text"
hints = { read_only = true, open_world = false }
handler = "text:count_words"
input_schema = { type = "object", properties = { text = { type = "string" } } }
"""
    published.manifest.write_text(changed.replace("[types.", f"{raw}\n[types."), encoding="utf-8")

    assert "mcp-registry/title-length" in codes(published, "mcp-registry")
    (described,) = [row for row in findings(lint(published, "docker-catalog")) if "parameter-des" in str(row["code"])]
    assert described["severity"] == "note"  # the program of the catalogue checks it for remote servers only


# The command


def test_text_lists_the_rules_that_only_a_person_can_check(published: Project) -> None:
    result = lint(published, "mcp-registry", "npm", layout="text")

    manual = load_profile("mcp-registry").manual_rules
    assert "\nmcp-registry: check yourself\n" in result.stdout
    assert "\nnpm: check yourself\n" in result.stdout
    assert [rule.requires for rule in manual if rule.requires not in result.stdout] == []


def test_other_formats_have_a_note_for_each_of_them(published: Project) -> None:
    notes = [row for row in findings(lint(published, "mcp-registry")) if row["severity"] == "note"]

    manual = {rule.code for rule in load_profile("mcp-registry").manual_rules}
    assert {row["code"] for row in notes if str(row["message"]).startswith("check yourself: ")} == manual


def test_sarif_describes_the_rules_with_their_source(published: Project) -> None:
    document = json.loads(lint(published, "smithery", layout="sarif").stdout)
    rules = {rule["id"]: rule for rule in document["runs"][0]["tool"]["driver"]["rules"]}

    assert rules["smithery/namespace"]["fullDescription"]["text"].startswith("Source: https://")


def test_without_a_profile_lint_reports_none_of_these_rules(run: Callable[..., Result]) -> None:
    assert "/" not in "".join(str(row["code"]) for row in findings(run("lint", "--format", "json")))
    assert run("lint", "--profile", "cursor").exit_code == 2
