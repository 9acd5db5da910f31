"""What is known about a kernel: its needs and limits, and how many blocks of it a device holds at a time."""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from .device import Device
    from .launch import Kernel, LaunchConfig

# The fields of infinirtFuncAttributes, in order, by the names that cuda.core gives them.
_NAMES = (
    *("shared_size_bytes", "const_size_bytes", "local_size_bytes", "max_threads_per_block", "num_regs"),
    *("ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes"),
    *("preferred_shared_memory_carveout", "cluster_size_must_be_set", "required_cluster_width"),
    *("required_cluster_height", "required_cluster_depth", "cluster_scheduling_policy_preference"),
    "non_portable_cluster_size_allowed",
)
# Those that can be changed, by the numbers of infinirtFuncAttribute.
_SETTABLE = {
    "max_dynamic_shared_size_bytes": 8,
    "preferred_shared_memory_carveout": 9,
    "required_cluster_width": 11,
    "required_cluster_height": 12,
    "required_cluster_depth": 13,
    "non_portable_cluster_size_allowed": 14,
    "cluster_scheduling_policy_preference": 15,
}


class KernelAttributes:
    """A kernel's needs and limits on one device, one attribute each, asked for when it is read; `dir()` lists them.

    Some can be set: a kernel that wants more dynamic shared memory than every device gives (48 KiB on NVIDIA's) needs
    `kernel.attributes.max_dynamic_shared_size_bytes = size` first.
    """

    __slots__ = ("_device", "_kernel")
    _device: Device
    _kernel: Kernel

    def __init__(self, kernel: Kernel, device: Device) -> None:
        object.__setattr__(self, "_kernel", kernel)
        object.__setattr__(self, "_device", device)

    def __getattr__(self, name: str) -> int:
        if name not in _NAMES:
            raise AttributeError(f"kernels have no attribute {name!r}; dir() lists them")
        return _core.kernel_attributes(self._device, self._kernel.handle)[_NAMES.index(name)]

    def __setattr__(self, name: str, value: int) -> None:
        if name not in _SETTABLE:
            raise AttributeError(f"{name!r} cannot be set; these can: {', '.join(_SETTABLE)}")
        _core.set_kernel_attribute(self._device, self._kernel.handle, _SETTABLE[name], value)

    def __getitem__(self, device: Device) -> KernelAttributes:
        """The same for another device of the kernel's type."""
        return KernelAttributes(self._kernel, device)

    def __dir__(self) -> list[str]:
        return sorted(_NAMES)

    def __repr__(self) -> str:
        return f"<KernelAttributes of {self._kernel.name}>"


class KernelOccupancy:
    """How many blocks of a kernel a multiprocessor of the current device holds at a time."""

    __slots__ = ("_device", "_kernel")

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self._kernel = kernel
        self._device = device

    def max_active_blocks_per_multiprocessor(
        self, block_size: int, dynamic_shared_memory_size: int = 0
    ) -> int:
        """Blocks of that many threads, each with that much dynamic shared memory."""
        return _core.max_active_blocks(
            self._device, self._kernel.handle, block_size, dynamic_shared_memory_size
        )

    def available_dynamic_shared_memory_per_block(
        self, num_blocks_per_multiprocessor: int, block_size: int
    ) -> int:
        """How much each block can have when so many are to run at a time."""
        return _core.available_shared_memory(
            self._device, self._kernel.handle, num_blocks_per_multiprocessor, block_size
        )

    def max_cooperative_blocks(self, config: LaunchConfig) -> int:
        """How many blocks of that shape the whole device holds: the largest grid of a cooperative launch."""
        x, y, z = config.block
        per_multiprocessor = self.max_active_blocks_per_multiprocessor(x * y * z, config.shmem_size)
        return per_multiprocessor * self._device.properties.multiprocessor_count

    def __repr__(self) -> str:
        return f"<KernelOccupancy of {self._kernel.name}>"
