"""Command line and tools. The top layer: nothing below imports it, and `import infinirt` never loads it."""
