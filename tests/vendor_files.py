"""Loop-back libraries of accelerator vendors: built from tests/vendors with the C compiler, once per folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from plugin_files import build

SOURCES = Path(__file__).parent / "vendors"


class Vendor(NamedTuple):
    source: str
    library: str  # the file's name, without its ending
    variable: str
    defines: tuple[str, ...] = ()


VENDORS = {
    "amd": Vendor("cuda_like.c", "libamdhip64", "INFINIRT_AMD_LIBRARY", ("VENDOR_HIP",)),
    "hygon": Vendor("cuda_like.c", "libgalaxyhip", "INFINIRT_HYGON_LIBRARY", ("VENDOR_HIP",)),
    "moore": Vendor("cuda_like.c", "libmusart", "INFINIRT_MOORE_LIBRARY", ("VENDOR_MUSA",)),
    "metax": Vendor("cuda_like.c", "libmcruntime", "INFINIRT_METAX_LIBRARY", ("VENDOR_MC",)),
    "iluvatar": Vendor("cuda_like.c", "libcudart", "INFINIRT_ILUVATAR_LIBRARY", ("VENDOR_CUDA",)),
    "ali": Vendor("cuda_like.c", "libcudart", "INFINIRT_ALI_LIBRARY", ("VENDOR_CUDA",)),
    "ascend": Vendor("acl.c", "libascendcl", "INFINIRT_ASCEND_LIBRARY"),
    "cambricon": Vendor("cnrt.c", "libcnrt", "INFINIRT_CAMBRICON_LIBRARY"),
    # Its addresses are taken for the device's own, which no program can be shown as they are.
    "kunlun": Vendor("xpu.c", "libxpurt", "INFINIRT_KUNLUN_LIBRARY", ("CHIP_LOW",)),
}


def loopback(folder: Path, vendor: str, *defines: str) -> Path:
    """The vendor's runtime, with host memory for its devices."""
    made = VENDORS[vendor]
    return build(
        SOURCES / made.source, folder, *made.defines, *defines, name=made.library, flags=("-pthread",)
    )


def settings(folder: Path, vendor: str, *defines: str) -> dict[str, str]:
    """An environment in which the device type is the loop-back's."""
    return {VENDORS[vendor].variable: str(loopback(folder, vendor, *defines))}
