"""How a project is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolmason.project import ProjectError, find_project


def lay_out(root: Path, *manifests: str) -> Path:
    (root / "manifest").mkdir(parents=True)
    for name in manifests:
        (root / "manifest" / name).write_text("edition = 1\n", encoding="utf-8")
    return root


def test_project_is_found_from_any_folder_inside_it(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "house", "house.toml")
    inside = root / "handlers" / "house" / "deep"
    inside.mkdir(parents=True)

    found = find_project(inside)

    assert found.root == root.resolve()
    assert found.manifest == root.resolve() / "manifest" / "house.toml"
    assert found.generated == root.resolve() / "generated"
    assert found.shown_manifest == "manifest/house.toml"


def test_nearest_project_wins_over_one_around_it(tmp_path: Path) -> None:
    outer = lay_out(tmp_path / "outer", "outer.toml")
    inner = lay_out(outer / "inner", "inner.toml")

    assert find_project(inner).root == inner.resolve()


def test_folder_called_manifest_without_toml_is_passed_over(tmp_path: Path) -> None:
    outer = lay_out(tmp_path / "outer", "outer.toml")
    inner = lay_out(outer / "inner")

    assert find_project(inner).root == outer.resolve()


def test_several_manifests_are_named_and_one_can_be_chosen(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "house", "b.toml", "a.toml")

    with pytest.raises(ProjectError, match=r"manifest/a\.toml, manifest/b\.toml; choose one with --manifest FILE"):
        find_project(root)
    assert find_project(root, Path("manifest/b.toml")).manifest == root.resolve() / "manifest" / "b.toml"


def test_missing_project_suggests_init(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="toolmason init DIR"):
        find_project(tmp_path)


def test_missing_manifest_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"manifest not found: nothing\.toml"):
        find_project(tmp_path, Path("nothing.toml"))


def test_lone_manifest_makes_its_own_folder_the_project(tmp_path: Path) -> None:
    (tmp_path / "lone.toml").write_text("edition = 1\n", encoding="utf-8")

    found = find_project(tmp_path, Path("lone.toml"))

    assert found.root == tmp_path.resolve()
    assert found.handlers is None


def test_project_in_a_house_must_have_its_handlers(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "house", "house.toml")

    assert find_project(root).handlers == root.resolve() / "handlers"


def test_templates_count_only_where_the_folder_is(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "house", "house.toml")
    assert find_project(root).templates is None

    (root / "templates").mkdir()
    assert find_project(root).templates == root.resolve() / "templates"


def test_linked_manifest_belongs_to_the_project_of_the_link(tmp_path: Path) -> None:
    shared = tmp_path / "shared.toml"
    shared.write_text("edition = 1\n", encoding="utf-8")
    root = lay_out(tmp_path / "house")
    (root / "manifest" / "house.toml").symlink_to(shared)

    assert find_project(root, Path("manifest/house.toml")).root == root.resolve()
