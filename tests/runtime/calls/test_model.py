"""Models are built at their first use. Pydantic searches for plugins only if a distribution declares one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pydantic.main
import pytest
from fresh_interpreter import run_code
from toolmason_runtime.calls.model import Model

MODEL = "from toolmason_runtime.calls.model import Model; import sys; Model(); "
PLUGIN = """
names = []

class Plugin:
    def new_schema_validator(self, schema, schema_type, schema_type_path, schema_kind, config, plugin_settings):
        names.append(schema_type_path.name)
        return None, None, None

plugin = Plugin()
"""


def test_without_plugins_of_pydantic_no_distribution_is_read(tmp_path: Path) -> None:
    assert run_code(f"{MODEL}print('importlib.metadata' in sys.modules)", tmp_path) == "False\n"


def test_a_plugin_of_pydantic_is_used(tmp_path: Path) -> None:
    metadata = tmp_path / "a_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[pydantic]\nany = a_plugin:plugin\n", encoding="utf-8")
    (tmp_path / "a_plugin.py").write_text(PLUGIN, encoding="utf-8")

    assert "Model" in run_code(f"{MODEL}import a_plugin; print(a_plugin.names)", tmp_path)


@pytest.mark.skipif(not hasattr(pydantic.main, "_rebuild_lock"), reason="this version builds models at once")
def test_threads_can_use_a_model_for_the_first_time_at_the_same_time() -> None:
    threads = 8
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(10):

            class Inner(Model):
                number: int

            class Outer(Model):
                inner: Inner
                items: tuple[Inner, ...] = ()

            barrier = Barrier(threads)

            def use(place: int, outer: type[Outer] = Outer, inner: type[Inner] = Inner, wait: Barrier = barrier) -> str:
                wait.wait()
                made = inner(number=place) if place % 2 else outer.model_validate({"inner": {"number": "7"}}).inner
                return f"{type(made).__name__} {made.model_dump_json()}"

            expected = [f'Inner {{"number":{place if place % 2 else 7}}}' for place in range(threads)]
            assert list(pool.map(use, range(threads))) == expected
