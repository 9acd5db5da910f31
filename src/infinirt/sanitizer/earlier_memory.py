"""Memory that the runtime knows and the checker does not: it was allocated before the checker looked."""

from __future__ import annotations

import ctypes
import threading

from ..__main__ import installed_root

_MOST = 4096  # answers of each kind that are kept
_REGION = 21  # bits: who has one address of such a region has, for all we ask, the others that the checker does not know


class EarlierMemory:
    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(installed_root() / "lib" / "libinfinirt.so.1"))
        self._there: set[int] = set()  # addresses
        self._not_there: set[int] = set()  # regions

    def is_there(self, address: int) -> bool:
        """Whether the address lies in such memory; otherwise it is the program's own, of which a copy to it is waited for."""
        if address >> _REGION in self._not_there:
            return False
        if address not in self._there:
            asking = threading.Thread(target=self._ask, args=(address,))
            asking.start()  # an observer may not call the API, and an answer of no would be the thread's last error
            asking.join()
        return address in self._there

    def forget(self) -> None:
        """Some of it was freed: its addresses may be the program's own from now on."""
        self._there.clear()

    def _ask(self, address: int) -> None:
        # This call is not observed: it does not come back to the checker.
        is_there = not self._library.infinirtXPointerGetDevice(ctypes.c_void_p(address), None, None)
        answers, answer = (self._there, address) if is_there else (self._not_there, address >> _REGION)
        if len(answers) >= _MOST:
            answers.clear()
        answers.add(answer)
