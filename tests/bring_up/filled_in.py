"""What a vendor would write into the blanks of a generated project: a device whose memory is a file, mapped."""

from __future__ import annotations

import re
from pathlib import Path

C = {
    "device_memory_allocate": """
  (void)device;
  if (size > CAPACITY - used) return infinirtPluginFailed;
  void* memory = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file(size), 0);
  if (memory == MAP_FAILED) return infinirtPluginFailed;
  used += size;
  *ptr = memory;
  return infinirtPluginSuccess;""",
    "device_memory_deallocate": """
  (void)device;
  used -= size;
  return munmap(ptr, size ? size : 1) == 0 ? infinirtPluginSuccess : infinirtPluginError;""",
    "memory_copy_h2d": """
  (void)device;
  memcpy(dst, src, size);
  return infinirtPluginSuccess;""",
    "memory_copy_d2h": """
  (void)device;
  memcpy(dst, src, size);
  return infinirtPluginSuccess;""",
    "device_memory_stats": """
  (void)device;
  *total = CAPACITY;
  *free = CAPACITY - used;
  return infinirtPluginSuccess;""",
}

C_TOP = """
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t CAPACITY = (size_t)4 << 30;
static size_t used;

static int memory_file(size_t size) {
  static int last = -1;
  char path[] = "/tmp/device-memory-XXXXXX";
  if (last >= 0) close(last);
  last = mkstemp(path);
  unlink(path);
  return ftruncate(last, (off_t)(size ? size : 1)) == 0 ? last : -1;
}
"""

PYTHON = {
    "allocate": "        return bytearray(size)",
    "release": "        block.clear()",
    "write": "        block[offset : offset + len(data)] = data",
    "read": "        into[:] = memoryview(block)[offset : offset + len(into)]",
    "total_memory": "        return 1 << 30",
}


def fill_c(source: Path) -> None:
    text = source.read_text()
    for entry, code in C.items():
        text, count = re.subn(
            rf"\n  [^\n]*;\n  return BLANK\(\"{entry}: [^\n]*\);", code.replace("\\", r"\\"), text
        )
        assert count == 1, entry
    head = "#include <stdio.h>\n"
    assert head in text
    source.write_text("#define _GNU_SOURCE\n" + text.replace(head, head + C_TOP))


def fill_python(source: Path) -> None:
    text = source.read_text()
    for method, code in PYTHON.items():
        text, count = re.subn(rf"        blank\(\"{method}: [^\n]*\)", code, text)
        assert count == 1, method
    source.write_text(text)
