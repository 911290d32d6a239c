from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.search.words import SearchData, WordRanker

from toolmason.catalogue.search_index import build_index


def leaves(value: Any) -> set[type]:
    if isinstance(value, dict):
        return set().union(*(leaves(each) for each in value.values()), *(leaves(each) for each in value))
    if isinstance(value, list):
        return set().union(*(leaves(each) for each in value))
    return {type(value)}


def test_index_is_json_of_whole_numbers_and_text(catalogue: Catalogue) -> None:
    data = build_index(catalogue)

    assert json.loads(json.dumps(data)) == data
    assert leaves(data) == {int, str}


def test_index_does_not_depend_on_the_hash_seed(catalogue: Catalogue, tmp_path: Path) -> None:
    source = tmp_path / "catalogue.json"
    source.write_text(json.dumps(catalogue), encoding="utf-8")
    program = (
        "import json, sys\n"
        "from toolmason.catalogue.search_index import build_index\n"
        "print(json.dumps(build_index(json.load(open(sys.argv[1], encoding='utf-8')))))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(source)],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert len(outputs) == 1


def test_index_is_compact(huge: Catalogue) -> None:
    text = json.dumps(build_index(huge), separators=(",", ":"))

    assert len(text) < 400 * len(huge["tools"])


def test_every_field_of_a_tool_is_searched(catalogue: Catalogue) -> None:
    entry = catalogue["tools"]["create_issue"]
    entry["tool"]["title"] = "Zebra"
    entry["summary"] = "Yak"
    entry["keywords"] = ["walrus"]
    entry["use_cases"] = ["viper"]
    entry["examples"] = [{"description": "urchin", "arguments": {}, "invocation": ""}]
    entry["aliases"] = ["toucan"]
    entry["cli"] = "salmon"
    catalogue["categories"]["issues"] |= {"tags": ["rabbit"], "summary": "Badger", "description": "A stoat"}
    catalogue["clis"] = {"salmon": {"summary": "Ferret", "description": "A weasel", "tags": []}}
    nested = {"type": "object", "properties": {"quail": {"type": "string", "description": "panda", "enum": ["otter"]}}}
    entry["tool"]["inputSchema"]["properties"]["newt"] = {"type": "array", "description": "mole", "items": nested}
    ranker = WordRanker(build_index(catalogue))
    first = ["zebra", "yak", "walrus", "viper", "urchin", "toucan", "salmon"]
    animals = [*first, "badger", "stoat", "ferret", "weasel", "rabbit", "quail", "panda", "otter", "newt", "mole"]

    assert [word for word in animals if "create_issue" not in ranker.rank(word)] == []


def test_a_description_that_repeats_the_summary_does_not_count_twice(catalogue: Catalogue) -> None:
    before = build_index(catalogue)
    catalogue["tools"]["git_log"]["summary"] = "List commits"

    assert build_index(catalogue) == before


def test_an_index_of_another_format_is_refused(catalogue: Catalogue) -> None:
    data: SearchData = {**build_index(catalogue), "format": 99}

    with pytest.raises(ValueError, match="generate the server again"):
        WordRanker(data)


def test_a_parameter_without_a_schema_is_indexed_by_nothing(catalogue: Catalogue) -> None:
    before = build_index(catalogue)
    catalogue["tools"]["git_log"]["tool"]["inputSchema"]["properties"]["anything"] = True

    assert build_index(catalogue) == before


def test_no_tools_give_an_empty_index(catalogue: Catalogue) -> None:
    catalogue["tools"] = {}

    assert build_index(catalogue)["terms"] == {}
