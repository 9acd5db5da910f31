"""What programs could leave in shared memory."""

from __future__ import annotations

import os


def shared_memory() -> set[str]:
    """Names in /dev/shm but those of traces and of MPI, which other tests may make meanwhile."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith(("mpich", "infinirt-trace-"))}
