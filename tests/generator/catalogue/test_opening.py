"""`opening.json` depends on the catalogue alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolmason.catalogue.opening import opening

EXPECTED = Path(__file__).parents[2] / "golden" / "prefixes-begin-the-names-of-commands-and-workflows" / "expected"
(PACKAGE,) = (path.parent for path in EXPECTED.glob("*/opening.json"))


def test_variables_of_the_generator_change_no_prepared_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = (PACKAGE / "catalogue.json").read_text("utf-8")
    server = json.loads(catalogue)["server"]
    for name in (server["command_prefix_env"], server["expose_all_env"]):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("TOOLMASON_POLICY", "missing.toml")

    assert opening(catalogue) + "\n" == (PACKAGE / "opening.json").read_text("utf-8")


@pytest.mark.parametrize(
    "text", ["", "[1, 2\n", "{}", "[]", '{"discovery": 1}', '{"discovery": {"style": "x"}}', "[" * 100_000]
)
def test_a_catalogue_that_a_template_has_spoiled_has_no_prepared_answers(text: str) -> None:
    assert opening(text) == "{}"
