"""Errors: the last error of the calling thread, and names for codes."""

from __future__ import annotations

from ..model import function, in_group

FUNCTIONS = in_group(
    "error",
    function(
        "infinirtGetLastError",
        "",
        route="core",
        doc="Returns the last error of the calling thread and resets it to success. A sticky error stays.",
    ),
    function(
        "infinirtPeekAtLastError",
        "",
        route="core",
        doc="Returns the last error of the calling thread without resetting it.",
    ),
    function(
        "infinirtGetErrorName",
        "infinirtError_t error",
        route="core",
        doc='Returns the enumerator\'s name as static text; "unrecognized error code" for an unknown code.',
        returns="const char*",
    ),
    function(
        "infinirtGetErrorString",
        "infinirtError_t error",
        route="core",
        doc='Returns a short description as static text; "unrecognized error code" for an unknown code.',
        returns="const char*",
    ),
)
