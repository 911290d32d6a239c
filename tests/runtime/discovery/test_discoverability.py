from __future__ import annotations

from toolmason_runtime.shared.catalogue import Catalogue

from toolmason.catalogue.search_index import build_index
from toolmason.lint.discoverability import rank_use_cases


def test_each_use_case_of_each_enabled_tool_is_searched(catalogue: Catalogue) -> None:
    catalogue["tools"]["fax"]["use_cases"] = ["Send a fax"]
    ranks = rank_use_cases(catalogue)

    assert {rank.tool for rank in ranks} == {
        name for name, entry in catalogue["tools"].items() if entry["use_cases"] and name != "fax"
    }
    assert all(rank.is_found for rank in ranks)


def test_a_use_case_that_others_answer_better_names_them(catalogue: Catalogue) -> None:
    for name in ("read_file", "write_file", "search_files", "directory_tree"):
        catalogue["tools"][name]["use_cases"] = ["files"]
    catalogue["tools"]["send_email"]["use_cases"] = ["files"]
    (rank,) = [rank for rank in rank_use_cases(catalogue) if rank.tool == "send_email"]

    assert not rank.is_found
    assert rank.rank is not None
    assert len(rank.ranked_higher) == rank.rank - 1 >= 3
    assert "send_email" not in rank.ranked_higher


def test_a_use_case_without_a_telling_word_finds_nothing(catalogue: Catalogue) -> None:
    catalogue["tools"]["git_diff"]["use_cases"] = ["What is it"]
    (rank,) = [rank for rank in rank_use_cases(catalogue, build_index(catalogue)) if rank.tool == "git_diff"]

    assert (rank.rank, rank.ranked_higher, rank.is_found) == (None, (), False)
