"""The form of what was left out in a prompt. The form of files is that of `backends.prompt`."""

from __future__ import annotations

from collections.abc import Sequence

from workbench_research.backends.prompt import DATA_RULE, file_block, files_text, safe_name
from workbench_research.context.choose import LeftOut

__all__ = ["DATA_RULE", "file_block", "files_text", "left_out_text", "safe_name"]


def left_out_text(left_out: Sequence[LeftOut], *, limit: int = 200) -> str:
    """Return the files that were left out, for the model: one line a reason, at most `limit` names in all."""
    reasons: dict[str, list[str]] = {}
    for entry in left_out:
        reasons.setdefault(entry.reason, []).append(safe_name(entry.path))
    lines = []
    for reason, paths in reasons.items():
        shown, limit = paths[: max(0, limit)], limit - len(paths)
        if len(paths) > len(shown):
            shown = [*shown, f"{len(paths) - len(shown):,} more"]
        lines.append(f"- {reason}: {', '.join(shown)}\n")
    return f"Not sent, so do not guess their content:\n{''.join(lines)}" if lines else ""
