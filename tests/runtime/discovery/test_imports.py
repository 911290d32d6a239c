from __future__ import annotations

import subprocess
import sys

HEAVY = ("pydantic", "mcp", "jinja2", "jsonschema", "asyncio", "toolmason", "pydantic_monty")


def test_discovery_starts_without_anything_heavy() -> None:
    program = (
        "import sys\n"
        "import toolmason_runtime.discovery, toolmason_runtime.calls.registry\n"
        "import toolmason_runtime.shared.values.wording, toolmason_runtime.discovery.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8")

    assert done.stdout.strip() == "[]"
