"""The Python side of the specification: which shape each C function, enum and struct has in `infinirt.runtime`.

`shapes` derives the Python shape of a function from its C prototype, `by_hand` and `overrides` hold what does not follow
from it, `classes` does the same for enums, structs and handles. `emit_*` turn all of it into the source of the extension
module and into its type stubs.
"""
