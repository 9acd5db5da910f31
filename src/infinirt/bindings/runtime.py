"""`infinirt.runtime`: this module is that one."""

import sys

from .. import runtime

sys.modules[__name__] = runtime
