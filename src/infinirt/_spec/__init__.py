"""The single specification of the C API, and the generator that turns it into code.

Standard library only, and independent of the rest of the package: the build runs it before `infinirt` exists.
"""
