"""Reads the dynamic symbols of a 64-bit little-endian ELF file, for machines without binutils."""

from __future__ import annotations

import struct


def undefined_symbols(data: bytes) -> list[str]:
    """The names of the symbols that a shared object takes from others."""
    assert data[:6] == b"\x7fELF\x02\x01", "a 64-bit little-endian ELF file"
    offset, entry_size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * entry_size) for i in range(count)]
    found = []
    for _, kind, _, _, start, size, link, _, _, each in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        strings = sections[link][4]
        for place in range(start, start + size, each):
            name, _, _, section = struct.unpack_from("<IBBH", data, place)
            if name and section == 0:
                end = data.index(b"\0", strings + name)
                found.append(data[strings + name : end].decode())
    return found
