"""Tensors, operators, recorded graphs, and the runtime that carries them, after InfiniCore's Python package."""
