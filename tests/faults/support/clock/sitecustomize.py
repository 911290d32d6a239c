"""Shift the time of day of an interpreter that starts with this directory in `PYTHONPATH`.

`CLOCK_OFFSET` names a file with the seconds to add. The monotonic clock stays. libfaketime also shifts waits of the
interpreter, which a jump of the clock does not.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

if "CLOCK_OFFSET" in os.environ:
    _offset = Path(os.environ["CLOCK_OFFSET"])
    _time = time.time
    time.time = lambda: _time() + float(_offset.read_text(encoding="utf-8"))
