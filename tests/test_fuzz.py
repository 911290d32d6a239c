"""Random examples are for `nox -s fuzz` alone: no other run may fail by chance; CI has the same inputs each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
CI = ROOT / ".ci" / "run"


def test_examples_are_random_in_the_profile_fuzz_alone(request: pytest.FixtureRequest) -> None:
    is_fuzzing = request.config.getoption("--hypothesis-profile") == "fuzz"
    fuzz, calm = settings.get_profile("fuzz"), settings.get_profile("calm")

    assert (fuzz.derandomize, calm.derandomize) == (False, True)
    assert settings.default == (fuzz if is_fuzzing else calm)
    assert fuzz.max_examples >= 10 * calm.max_examples
    assert [line.strip() for line in CI.read_text(encoding="utf-8").splitlines() if "fuzz" in line] == [
        '"-R --session ci -- fuzz soak schema_npm faults"'
    ]
    assert '"fuzz": lambda session: _fuzz(session, "ci"),' in (ROOT / "noxfile.py").read_text(encoding="utf-8")
