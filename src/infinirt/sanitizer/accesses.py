"""Which bytes the arguments of copies and sets touch, read from the program's own memory as C lays it out."""

from __future__ import annotations

import ctypes
from typing import Any

from .graphs import Touch
from .memory import MOST_RANGES

# What a report calls them: the program may have variables of the C parameters' names.
TARGET, SOURCE, SET_MEMORY = "its destination", "its source", "its memory"


def word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value if address else 0


def flat(dst: int, src: int, count: int) -> list[Touch]:
    return [rows(dst, count, count, 1, True, TARGET), rows(src, count, count, 1, False, SOURCE)]


def rows(base: int, pitch: int, width: int, height: int, writes: bool, label: str) -> Touch:
    if width == 0 or height == 0:
        return Touch(base, (), writes, label)
    if pitch == width:
        return Touch(base, ((base, base + width * height),), writes, label)
    if height > MOST_RANGES:
        return Touch(base, None, writes, label)
    return Touch(
        base, tuple((base + i * pitch, base + i * pitch + width) for i in range(height)), writes, label
    )


class Pitched(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("pointer", "pitch", "xsize", "ysize")]


class CopyParameters(ctypes.Structure):
    """infinirtMemcpy3DParms."""

    _fields_ = [
        ("source_array", ctypes.c_uint64),
        ("source_place", ctypes.c_uint64 * 3),
        ("source", Pitched),
        ("target_array", ctypes.c_uint64),
        ("target_place", ctypes.c_uint64 * 3),
        ("target", Pitched),
        ("extent", ctypes.c_uint64 * 3),
        ("kind", ctypes.c_int),
    ]


class PeerCopyParameters(ctypes.Structure):
    """infinirtMemcpy3DPeerParms."""

    _fields_ = [
        ("source_array", ctypes.c_uint64),
        ("source_place", ctypes.c_uint64 * 3),
        ("source", Pitched),
        ("source_device", ctypes.c_int),
        ("target_array", ctypes.c_uint64),
        ("target_place", ctypes.c_uint64 * 3),
        ("target", Pitched),
        ("target_device", ctypes.c_int),
        ("extent", ctypes.c_uint64 * 3),
    ]


def _box(place: Any, pitched: Pitched, extent: Any, writes: bool, label: str) -> Touch:
    width, height, depth = extent
    base = pitched.pointer + place[0] + place[1] * pitched.pitch + place[2] * pitched.pitch * pitched.ysize
    if depth == 1 or height == 0 or width == 0:
        return rows(base, pitched.pitch, width, height if depth else 0, writes, label)
    if height * depth > MOST_RANGES:
        return Touch(base, None, writes, label)
    starts = [base + (z * pitched.ysize + y) * pitched.pitch for z in range(depth) for y in range(height)]
    return Touch(base, tuple((start, start + width) for start in starts), writes, label)


def copy_parameters(address: int) -> list[Touch]:
    return _boxes(CopyParameters.from_address(address))


def peer_copy_parameters(address: int) -> tuple[list[Touch], int, int]:
    """What is touched, and the devices' numbers: the destination's, the source's."""
    p = PeerCopyParameters.from_address(address)
    return _boxes(p), p.target_device, p.source_device


def _boxes(p: CopyParameters | PeerCopyParameters) -> list[Touch]:
    return [
        _box(p.target_place, p.target, p.extent, True, TARGET),
        _box(p.source_place, p.source, p.extent, False, SOURCE),
    ]


class SetParameters(ctypes.Structure):
    """infinirtMemsetParams."""

    _fields_ = [
        ("target", ctypes.c_uint64),
        ("pitch", ctypes.c_uint64),
        ("value", ctypes.c_uint),
        ("element", ctypes.c_uint),
        ("width", ctypes.c_uint64),
        ("height", ctypes.c_uint64),
    ]


def set_parameters(address: int) -> Touch:
    p = SetParameters.from_address(address)
    return rows(p.target, p.pitch, p.width * p.element, p.height, True, SET_MEMORY)
