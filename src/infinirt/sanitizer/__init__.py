"""`infinirt sanitize`: finds what a program's streams may do in the wrong order. `import infinirt` never loads it."""

from __future__ import annotations
