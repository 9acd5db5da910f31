"""Other projects that can do the same: found where they are installed, imported only when a case wants them."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass, field
from typing import Any

# Name, module, distribution; whether it can work on the CPU, and on NVIDIA's GPUs.
KNOWN = (
    ("NumPy", "numpy", "numpy", True, False),
    ("PyTorch", "torch", "torch", True, True),
    ("CuPy", "cupy", "cupy", False, True),
    ("cuda-python", "cuda.bindings.runtime", "cuda-bindings", False, True),
    ("mpi4py", "mpi4py", "mpi4py", True, False),
)
UNKNOWN_VERSION = "version unknown"


@dataclass
class Peers:
    """Peers that are there, by name; `told` says what was found and why others are not used."""

    modules: dict[str, Any] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """The peer's module, or None."""
        return self.modules.get(name)


def find(device_type: str, wanted: bool) -> Peers:
    peers = Peers()
    for name, module, distribution, on_cpu, on_gpu in KNOWN:
        if not wanted and name != "NumPy":
            peers.told[name] = "left out as asked"
        elif not (on_cpu if device_type.startswith("cpu") else on_gpu and device_type == "nvidia"):
            peers.told[name] = f"does not work on {device_type}"
        else:
            peers.told[name] = load(peers, name, module, distribution)
    return peers


def load(peers: Peers, name: str, module: str, distribution: str) -> str:
    try:
        if importlib.util.find_spec(module.split(".")[0]) is None:
            return "not installed"
        # mpi4py's own module starts MPI, which its ranks do in processes of their own.
        peers.modules[name] = importlib.import_module(module)
        problem = unusable(name, peers.modules[name])
    except Exception as error:
        # Whatever another project's start-up raises, it is that project's matter.
        problem = f"cannot be imported: {error}"
    if problem:
        peers.modules.pop(name, None)
        return problem
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(peers.modules[name], "__version__", UNKNOWN_VERSION))


def was_measured(told: str) -> bool:
    """What is told of a peer begins with its version, or says why it is not used."""
    return told[:1].isdigit() or told.startswith(UNKNOWN_VERSION)


def unusable(name: str, module: Any) -> str:
    """Why a peer that is installed cannot be used here; empty when it can."""
    if name == "CuPy" and not module.cuda.is_available():
        return "finds no GPU"
    return ""
