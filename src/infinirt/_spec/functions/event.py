"""Events: points in streams that can be waited for and timed."""

from __future__ import annotations

from ..model import cuda13, function, in_group

FUNCTIONS = in_group(
    "event",
    function(
        "infinirtEventCreate",
        "infinirtEvent_t* event",
        route="current",
        doc="Creates an event with timing on the current device. The caller destroys it.",
    ),
    function(
        "infinirtEventCreateWithFlags",
        "infinirtEvent_t* event, unsigned int flags",
        route="current",
        doc=(
            "Creates an event. infinirtEventDisableTiming makes it cheaper; infinirtEventInterprocess needs "
            "that flag too."
        ),
    ),
    function(
        "infinirtEventDestroy",
        "infinirtEvent_t event",
        route="handle:event",
        doc="Destroys an event. Returns at once even if a record is pending; waits already issued still hold.",
    ),
    function(
        "infinirtEventQuery",
        "infinirtEvent_t event",
        route="handle:event",
        doc=(
            "Returns infinirtSuccess if the work before the last record has finished or the event was never "
            "recorded, infinirtErrorNotReady if not. The latter does not become the last error."
        ),
    ),
    function(
        "infinirtEventRecord",
        "infinirtEvent_t event, infinirtStream_t stream = 0",
        route="stream:stream|handle:event",
        doc=(
            "Records the stream's work so far in the event, replacing what was recorded before. Does not "
            "block. Event and stream must be on the same device."
        ),
        ptsz=True,
    ),
    function(
        "infinirtEventRecordWithFlags",
        "infinirtEvent_t event, infinirtStream_t stream = 0, unsigned int flags = 0",
        route="stream:stream|handle:event",
        doc=(
            "As infinirtEventRecord; with infinirtEventRecordExternal a capture gets an event record node "
            "instead of a dependency."
        ),
        ptsz=True,
    ),
    function(
        "infinirtEventSynchronize",
        "infinirtEvent_t event",
        route="handle:event",
        doc=(
            "Blocks the host until the work before the last record has finished; returns at once if there was "
            "none."
        ),
    ),
    function(
        "infinirtEventElapsedTime",
        "float* ms, infinirtEvent_t start, infinirtEvent_t end",
        route="handle:end",
        doc=(
            "Writes the milliseconds between two recorded and finished events. infinirtErrorNotReady if one "
            "has not finished, infinirtErrorInvalidResourceHandle if one was not recorded or has no timing."
        ),
        cuda13=cuda13(
            "cudaEventElapsedTime",
            None,
            "CUDA 13 gives the plain name the behaviour of 12.9's _v2; the shape is the same.",
        ),
    ),
    function(
        "infinirtEventElapsedTime_v2",
        "float* ms, infinirtEvent_t start, infinirtEvent_t end",
        route="handle:end",
        doc="As infinirtEventElapsedTime; does not report errors of unrelated earlier work.",
        cuda13=cuda13(
            "cudaEventElapsedTime",
            None,
            "CUDA 13 gives the plain name this behaviour.",
        ),
    ),
)
