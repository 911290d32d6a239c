"""Skills as resources (SEP-2640): only generated files of workflows whose tools are all served."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.server import package_files
from toolmason_runtime.server.resources import Resources
from toolmason_runtime.server.skills import MAX_FILES, Skills, parse_front_matter, served_skills
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.shared.selection import Selection

REPOSITORY = Path(__file__).parents[3]
HEAD = "---\nname: lend\ndescription: Lend a book\n---\n\n"


@pytest.fixture
def skills_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory with the skill `lend`; a secret is beside it."""
    monkeypatch.setattr(package_files, "server_files", lambda _: tmp_path)
    skill = tmp_path / "skills" / "lend"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"{HEAD}Read `references/rules.md`.\n", encoding="utf-8")
    (skill / "references" / "rules.md").write_text("# R\u00e4les\r\n", encoding="utf-8", newline="")
    (skill / "references" / "pen.png").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "skills" / "other").mkdir()
    (tmp_path / "skills" / "other" / "SKILL.md").write_text(HEAD, encoding="utf-8")
    return tmp_path / "skills"


def catalogue(skills: dict[str, list[str]], **tools: dict[str, Any]) -> Catalogue:
    entries = {name: {"tier": "core", "category": "books", **entry} for name, entry in tools.items()}
    server = {"package": "book_server", "page_size": 50}
    return cast("Catalogue", {"server": server, "categories": {"books": {}}, "tools": entries, "skills": skills})


def served(names: list[str] | None = None) -> Skills:
    return Skills(catalogue({}), ["lend"] if names is None else names)


def ask(method: Any, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = asyncio.run(method(params, None))
    return result


def read(uri: Any) -> dict[str, Any]:
    resources = Resources(catalogue({}), cast("Any", None), cast("Any", None), served())
    return ask(resources.read, uri=uri)


@pytest.mark.usefixtures("skills_directory")
def test_each_listed_file_has_the_digest_and_size_of_its_content() -> None:
    (skill,) = ask(served().list)["skills"]

    assert skill["uri"] == "skill://lend/SKILL.md"
    assert skill["frontmatter"] == {"name": "lend", "description": "Lend a book"}
    assert [file["uri"].rpartition("/")[2] for file in skill["resources"]] == ["SKILL.md", "pen.png", "rules.md"]
    assert ask(served().get, uri=skill["uri"]) == {"skill": skill}
    text = read("skill://lend/references/rules.md")["contents"][0]
    assert (text["mimeType"], text["text"]) == ("text/markdown", "# R\u00e4les\r\n")
    assert skill["resources"][2]["digest"] == f"sha256:{hashlib.sha256(text['text'].encode()).hexdigest()}"
    assert skill["resources"][2]["size"] == len(text["text"].encode())
    assert read("skill://lend/references/pen.png")["contents"][0]["blob"] == "iVBORw0K"


@pytest.mark.usefixtures("skills_directory")
def test_directories_list_their_direct_children() -> None:
    root = ask(served().read_directory, uri="skill://lend")["resources"]
    inner = ask(served().read_directory, uri="skill://lend/references")["resources"]

    assert [(child["uri"], child["mimeType"]) for child in root] == [
        ("skill://lend/SKILL.md", "text/markdown"),
        ("skill://lend/references", "inode/directory"),
    ]
    assert root[0]["description"] == "Lend a book"
    assert [(child["name"], child["size"]) for child in inner] == [("pen.png", 6), ("rules.md", 10)]


NOT_FILES = (
    *("skill://lend/../secret.txt", "skill://lend/references/../../../secret.txt", "skill://lend/..%2f..%2fsecret.txt"),
    *(
        "skill://lend/%2e%2e/other/SKILL.md",
        "skill://lend//SKILL.md",
        "skill://lend/./SKILL.md",
        "skill://lend\\SKILL.md",
    ),
    *("skill:///etc/passwd", "skill://lend/SKILL.md/", "skill://lend/SKILL.md?x", "skill://lend/SKILL.md#x"),
    *("skill://LEND/SKILL.md", "skill://lend/skill.md", "skill://other/SKILL.md", "skill://user@lend/SKILL.md"),
    *(
        "SKILL://lend/SKILL.md",
        "file:///etc/passwd",
        "skill://lend/SKILL.md\0",
        "skill://",
        "skill:",
        "skill",
        "",
        None,
        5,
        ["skill://lend"],
    ),
)


@pytest.mark.usefixtures("skills_directory")
@pytest.mark.parametrize("uri", NOT_FILES)
def test_only_listed_files_are_read(uri: Any) -> None:
    with pytest.raises(MethodError):
        read(uri)
    with pytest.raises(MethodError):
        ask(served().get, uri=uri)
    with pytest.raises(MethodError):
        ask(served().read_directory, uri=uri)


def test_symbolic_links_are_not_served(skills_directory: Path) -> None:
    (skills_directory / "lend" / "link.txt").symlink_to(skills_directory.parent / "secret.txt")
    (skills_directory / "lend" / "up").symlink_to(skills_directory.parent, target_is_directory=True)

    (skill,) = ask(served().list)["skills"]

    assert len(skill["resources"]) == 3
    with pytest.raises(MethodError):
        read("skill://lend/link.txt")


def test_a_changed_file_has_its_new_digest(skills_directory: Path) -> None:
    skills = served()
    before = ask(skills.list)
    (skills_directory / "lend" / "SKILL.md").write_text(f"{HEAD}New\n", encoding="utf-8")

    assert ask(skills.list) != before


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda skill: (skill / "SKILL.md").unlink(), id="no SKILL.md"),
        pytest.param(lambda skill: (skill / "SKILL.md").write_text("# Lend"), id="no front matter"),
        pytest.param(lambda skill: (skill / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n"), id="not UTF-8"),
        pytest.param(lambda skill: (skill / "SKILL.md").write_text(HEAD.replace("lend", "a")), id="another name"),
        pytest.param(lambda skill: (skill / "SKILL.md").write_text("---\nname: lend\n---\n"), id="no description"),
        pytest.param(
            lambda skill: [(skill / f"{number}.txt").write_text("") for number in range(MAX_FILES)], id="too many files"
        ),
        pytest.param(lambda skill: (skill / "big.bin").write_bytes(bytes(16 * 1024 * 1024)), id="too many bytes"),
    ],
)
def test_a_damaged_skill_is_left_out_and_logged_once(
    skills_directory: Path, caplog: pytest.LogCaptureFixture, damage: Any
) -> None:
    damage(skills_directory / "lend")
    skills = served()

    assert [ask(skills.list) for _ in range(2)] == [{"skills": []}] * 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "skill lend is not served" in caplog.text


@pytest.mark.parametrize(
    ("entry", "selection", "is_served"),
    [
        ({}, Selection("classic"), True),
        ({"enabled": False}, Selection("classic"), False),
        ({"tier": "all"}, Selection("classic"), False),
        ({"tier": "all"}, Selection("classic", all_tools=True), True),
        ({"deprecated": {"until": "2001-01-01"}}, Selection("classic"), False),
    ],
)
def test_a_skill_with_a_tool_that_is_not_served_is_not_served(
    entry: dict[str, Any], selection: Selection, is_served: bool
) -> None:
    served_names = served_skills(catalogue({"lend": ["find", "pay"], "free": []}, find={}, pay=entry), selection)

    assert served_names == (["lend", "free"] if is_served else ["free"])


GOLDEN = REPOSITORY / "tests" / "golden"
SKILLS = [path.read_bytes() for path in sorted(GOLDEN.glob("*/expected/skills/*/SKILL.md"))]
SKILLS += [path.read_bytes() for path in sorted((REPOSITORY / "generated" / "skills").glob("*/SKILL.md"))]


@pytest.mark.parametrize("data", SKILLS)
def test_front_matter_of_generated_skills_is_read_as_yaml_is(data: bytes) -> None:
    assert parse_front_matter(data) == yaml.safe_load(data.decode().split("\n---\n")[0].removeprefix("---\n"))


@given(st.text(alphabet="ab \"'\\:#-[]{}!&*|>%@`,?~0.1tTrueNnlys\u00e9", max_size=12))
def test_other_yaml_is_read_alike_or_refused(value: str) -> None:
    found = parse_front_matter(f"---\nname: {value}\n---\n".encode())

    if found is not None:
        assert yaml.safe_load(f"name: {value}\n") == found


def test_texts_of_all_skills_are_json() -> None:
    assert all(json.dumps(parse_front_matter(data)) for data in SKILLS)
