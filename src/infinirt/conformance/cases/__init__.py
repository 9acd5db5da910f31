"""The cases, a module for each theme. A case uses `rt`, never a backend's own interface, and holds one gate at a time."""
