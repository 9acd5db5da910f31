"""Calls every function of the C API with wrong arguments, straight through ctypes. Used by test_bad_input.py.

usage: bad_input_main.py LIBRARY ROUNDS SEED

Each argument is drawn from values that a wrong program could pass and that the runtime can know to be wrong (or right):
null, freed and interior memory of ours, destroyed, foreign and invented handles, numbers out of range, sizes that overflow.
What nobody could check (an arbitrary address as host memory, a garbage function pointer) is left out. Whatever the answer,
the process must live, and a failing call must leave a message that names the function. At the end the device still works.
"""

from __future__ import annotations

import ctypes
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "abi"))
import importlib

import api_spec  # noqa: F401 - loads the specification from the tree

FUNCTIONS = importlib.import_module("infinirt_spec.functions").FUNCTIONS
library = ctypes.CDLL(sys.argv[1])
library.infinirtXGetLastErrorMessage.restype = ctypes.c_char_p
rounds, rng = int(sys.argv[2]), random.Random(int(sys.argv[3]))

HUGE = 2**64 - 1
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: None)
# These would end what the other calls are about; DeviceReset has tests of its own.
LEFT_OUT = {"infinirtDeviceReset"}


class Dim3(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint) for name in "xyz"]


class Words(ctypes.Structure):
    """A struct passed by value: extents, positions, pitched pointers, handles of 64 bytes."""

    _fields_ = [("words", ctypes.c_uint64 * 8)]


class Three(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * 3)]


class Four(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * 4)]


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


def made(create: str, *arguments: int) -> int:
    out = ctypes.c_void_p()
    code = getattr(library, create)(ctypes.byref(out), *[ctypes.c_size_t(a) for a in arguments])
    assert code == 0, (create, code)
    return out.value or 0


def gone(create: str, destroy: str, *arguments: int) -> int:
    value = made(create, *arguments)
    assert getattr(library, destroy)(ctypes.c_void_p(value)) == 0
    return value


live_memory = made("infinirtMalloc", 4096)
freed_memory = gone("infinirtMalloc", "infinirtFree", 8192)
pinned = made("infinirtMallocHost", 4096)
stream, event, graph = (
    made("infinirtStreamCreate"),
    made("infinirtEventCreate"),
    made("infinirtGraphCreate", 0),
)
HANDLES = [
    0,
    gone("infinirtStreamCreate", "infinirtStreamDestroy"),
    gone("infinirtEventCreate", "infinirtEventDestroy"),
    gone("infinirtGraphCreate", "infinirtGraphDestroy", 0),
    stream,
    event,
    graph,
    stream + (1 << 20),  # in the range of handles, made by nobody
    0x1234560,
    HUGE,
]
POINTERS = [
    0,
    live_memory,
    live_memory + 100,
    live_memory + 4096 - 8,
    freed_memory,
    freed_memory + 16,
    pinned,
    pinned + 64,
]
SIZES = [0, 1, 8, 64, 4096, 4097, 1 << 40, 1 << 62, HUGE]
scratch = ctypes.create_string_buffer(1 << 16)


def draw(ctype: str, name: str) -> object:
    plain = ctype.removeprefix("const ").removeprefix("struct ").removeprefix("enum ")
    if plain in ("infinirtHostFn_t",):
        return rng.choice([ctypes.cast(HOST_FUNCTION, ctypes.c_void_p), ctypes.c_void_p(0)])
    if plain == "infinirtStreamCallback_t":
        return rng.choice([ctypes.cast(CALLBACK, ctypes.c_void_p), ctypes.c_void_p(0)])
    if plain == "dim3":
        return Dim3(*(rng.choice([0, 1, 2**31]) for _ in range(3)))
    if plain in ("infinirtExtent", "infinirtPos"):
        return Three((ctypes.c_uint64 * 3)(*(rng.choice(SIZES) for _ in range(3))))
    if plain == "infinirtPitchedPtr":
        return Four((ctypes.c_uint64 * 4)(rng.choice(POINTERS), *(rng.choice(SIZES) for _ in range(3))))
    if plain in ("infinirtIpcMemHandle_t", "infinirtIpcEventHandle_t"):
        return Words((ctypes.c_uint64 * 8)(*(rng.choice([0, 1, HUGE]) for _ in range(8))))
    if plain == "infinirtMemLocation":
        return Location(rng.choice([-1, 0, 1, 2, 77]), rng.choice([-1, 0, 5]))
    if (
        plain.endswith("_t")
        and "*" not in plain
        and plain.startswith("infinirt")
        and plain != "infinirtError_t"
    ):
        return ctypes.c_void_p(rng.choice(HANDLES))
    if plain == "char*":
        return rng.choice([ctypes.c_char_p(b"nowhere/at/all"), ctypes.c_char_p(None)])
    if "*" in plain:
        if plain == "void*" and name not in ("data", "value", "shareableHandle", "exportData"):
            return ctypes.c_void_p(rng.choice(POINTERS))
        ctypes.memset(scratch, 0, len(scratch))
        return rng.choice([scratch, ctypes.c_void_p(0)])
    if plain in ("size_t", "unsigned long long"):
        # Counts of arrays stay within the scratch memory; sizes may be anything.
        small = name.startswith("num") or (name in ("count",) and "Memcpy" not in current)
        return ctypes.c_size_t(rng.choice([0, 1, 8]) if small else rng.choice(SIZES))
    return ctypes.c_int(rng.choice([-1, 0, 1, 2, 77, 2**31 - 1, -(2**31)]))


current = ""
calls = failures = 0
for spec in FUNCTIONS:
    if spec.name in LEFT_OUT or spec.returns != "infinirtError_t":
        continue
    current = spec.name
    function = getattr(library, spec.name)
    print(spec.name, file=sys.stderr, flush=True)  # the last line names the function that did not come back
    for _ in range(rounds):
        arguments = [draw(param.ctype, param.name) for param in spec.params]
        library.infinirtGetLastError()
        code = function(*arguments)
        calls += 1
        if code not in (0, 600):
            failures += 1
            text = library.infinirtXGetLastErrorMessage().decode()
            if spec.name not in ("infinirtGetLastError", "infinirtPeekAtLastError"):
                assert text.startswith(spec.name.removesuffix("_v2").removesuffix("_v3")), (
                    spec.name,
                    code,
                    text,
                )
        if spec.name == "infinirtThreadExchangeStreamCaptureMode":
            ctypes.memset(scratch, 0, len(scratch))
            function(scratch)

# A capture that some call above began ends with the streams it was on.
library.infinirtSetDevice(0)
fresh = made("infinirtStreamCreateWithFlags", 1)
again = made("infinirtMallocHost", 64)
memory = made("infinirtMalloc", 64)
for call in (
    library.infinirtMemsetAsync(ctypes.c_void_p(memory), 7, ctypes.c_size_t(64), ctypes.c_void_p(fresh)),
    library.infinirtMemcpyAsync(
        ctypes.c_void_p(again), ctypes.c_void_p(memory), ctypes.c_size_t(64), 2, ctypes.c_void_p(fresh)
    ),
    library.infinirtStreamSynchronize(ctypes.c_void_p(fresh)),
):
    assert call == 0, (call, library.infinirtXGetLastErrorMessage())
assert ctypes.string_at(again, 64) == b"\7" * 64
print(f"{calls} calls, {failures} refused")
