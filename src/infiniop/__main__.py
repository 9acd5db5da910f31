"""`python -m infiniop`: the operators, as a table in Markdown."""

from __future__ import annotations

from .schema.emit.listing import render

if __name__ == "__main__":
    print(render(), end="")
