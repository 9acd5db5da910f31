"""The flat API under the name that programs for `cuda.bindings` have after `cuda` was replaced by `infinirt`.

>>> from infinirt.bindings import runtime
>>> import infinirt.runtime
>>> runtime is infinirt.runtime
True
"""

from .. import runtime

__all__ = ["runtime"]
