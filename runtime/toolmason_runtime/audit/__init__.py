"""The audit log: one line for each call, approval, refusal and review. Nothing else is imported while it is off."""

from __future__ import annotations

from toolmason_runtime.audit.events import current_call, log_path, note, record

__all__ = ["current_call", "log_path", "note", "record"]
