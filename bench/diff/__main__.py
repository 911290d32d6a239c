"""`python -m bench.diff [--rivals PYTHON]`: right, wrong and silent answers of each program, for `docs/diff.md`.

PYTHON is an interpreter with `mcp-diff`, `mcp-compat`, `mcp-contract`, `mujin-mcpdrift` and `mcp-toolguard`.
"""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.diff.pairs import Pair, Tool, pairs
from toolmason.audit.sources import Source  # noqa: TID251
from toolmason.audit.tool_lists import parse_tools  # noqa: TID251
from toolmason.diff.compare import compare  # noqa: TID251
from toolmason.diff.contract import Contract  # noqa: TID251
from toolmason.diff.rules import Severity, rules, worst  # noqa: TID251
from toolmason.diff.sides import list_contract  # noqa: TID251


def ours(pair: Pair) -> str:
    """Return the worst severity that we report."""
    changes = compare(_contract(pair.old), _contract(pair.new))
    return worst(rules()[change.rule].severity for change in changes) or Severity.SAFE


def _contract(tools: list[Tool]) -> Contract:
    return list_contract(Source(name="tools", tools=parse_tools(tools, "tools").tools))


def outcome(answer: str, verdict: str) -> str:
    """Return `right`, `wrong` or `silent`: a breaking or dangerous change for which nothing is reported.

    For a safe change, a warning is right too: every program warns of some texts.
    """
    if answer == "safe":
        return "wrong" if verdict == "breaking" else "right"
    if verdict == "safe":
        return "silent"
    return "right" if verdict == answer else "wrong"


def score(found: Sequence[Pair], verdicts: Sequence[str]) -> dict[str, int]:
    """Return the numbers of outcomes, and of breaking changes that are not reported at all."""
    outcomes = [outcome(pair.answer, verdict) for pair, verdict in zip(found, verdicts, strict=True)]
    breaks = [result for pair, result in zip(found, outcomes, strict=True) if pair.answer == "breaking"]
    return {key: outcomes.count(key) for key in ("right", "wrong", "silent")} | {"missed": breaks.count("silent")}


def main() -> None:
    """Print the table, then our mistakes."""
    parser = argparse.ArgumentParser(prog="python -m bench.diff", description=__doc__)
    parser.add_argument("--rivals", metavar="PYTHON", help="interpreter with the other packages")
    options = parser.parse_args()
    found = pairs()
    results = {"toolmason diff": [ours(pair) for pair in found]}
    if options.rivals:
        command = [options.rivals, str(Path(__file__).with_name("rivals.py"))]
        request = json.dumps([[pair.old, pair.new] for pair in found])
        run = subprocess.run(command, input=request, stdout=subprocess.PIPE, encoding="utf-8", check=True)  # noqa: S603
        results |= json.loads(run.stdout)
    print(f"{len(found)} pairs\n")
    print("| program | right | wrong | silent | breaks not reported |\n| --- | --- | --- | --- | --- |")
    for name, verdicts in results.items():
        counts = score(found, verdicts)
        print(f"| {name} | {counts['right']} | {counts['wrong']} | {counts['silent']} | {counts['missed']} |")
    for pair, verdict in zip(found, results["toolmason diff"], strict=True):
        if outcome(pair.answer, verdict) != "right":
            print(f"{pair.name}: {verdict}, not {pair.answer}")


if __name__ == "__main__":
    main()
