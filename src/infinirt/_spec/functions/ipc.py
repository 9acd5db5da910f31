"""Sharing memory and events with other processes."""

from __future__ import annotations

from ..model import function, in_group

FUNCTIONS = in_group(
    "ipc",
    function(
        "infinirtIpcGetMemHandle",
        "infinirtIpcMemHandle_t* handle, void* devPtr",
        route="pointer:devPtr",
        doc="Writes data with which another process can map an allocation of infinirtMalloc.",
    ),
    function(
        "infinirtIpcOpenMemHandle",
        "void** devPtr, infinirtIpcMemHandle_t handle, unsigned int flags",
        route="current",
        doc=(
            "Maps memory that another process exported, on the current device. Close it with "
            "infinirtIpcCloseMemHandle."
        ),
    ),
    function(
        "infinirtIpcCloseMemHandle",
        "void* devPtr",
        route="pointer:devPtr",
        doc="Unmaps memory from infinirtIpcOpenMemHandle. The exporting process keeps its allocation.",
    ),
    function(
        "infinirtIpcGetEventHandle",
        "infinirtIpcEventHandle_t* handle, infinirtEvent_t event",
        route="handle:event",
        doc=(
            "Writes data with which another process can open an event that was created with "
            "infinirtEventInterprocess."
        ),
    ),
    function(
        "infinirtIpcOpenEventHandle",
        "infinirtEvent_t* event, infinirtIpcEventHandle_t handle",
        route="current",
        doc="Opens an event that another process exported. The caller destroys it.",
    ),
)
