"""Print the SHA-256 of each file that the golden cases generate, one a line: `nox -s versions` compares two runs."""

from __future__ import annotations

import hashlib

from test_golden import CASES, run_pipeline


def main() -> None:
    for case in CASES:
        for file in run_pipeline(case).files:
            print(hashlib.sha256(file.text.encode()).hexdigest(), f"{case.name}/{file.path}")


if __name__ == "__main__":
    main()
