"""The audit log: one line for each call, approval, refusal and review, and the names with which handlers add lines.

While no log is open, only `events` is imported.
"""

from __future__ import annotations

from toolmason_runtime.audit.events import current_call as current_call
from toolmason_runtime.audit.events import log_path as log_path
from toolmason_runtime.audit.events import note as note
from toolmason_runtime.audit.events import record as record

__all__ = ["current_call", "log_path", "note", "record"]
