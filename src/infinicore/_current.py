"""Which runtime each thread works with. Below `runtime` and `context`, which both need it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runtime import Runtime


class _Current(threading.local):
    runtime: Runtime | None = None


current = _Current()
