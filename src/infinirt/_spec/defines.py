"""`#define` constants."""

from __future__ import annotations

from .model import Define, DefineGroup

API_VERSION = 12090
"""The CUDA runtime version whose API this is."""


def _flags(doc: str, **values: int) -> DefineGroup:
    return DefineGroup(doc, tuple(Define(n, f"0x{v:02x}", v) for n, v in values.items()))


def _renames(doc: str, *pairs: tuple[str, str]) -> DefineGroup:
    return DefineGroup(doc, tuple(Define(name, target) for name, target in pairs))


DEFINES: tuple[DefineGroup, ...] = (
    _flags(
        "Flags of infinirtHostAlloc.",
        infinirtHostAllocDefault=0x00,
        infinirtHostAllocPortable=0x01,
        infinirtHostAllocMapped=0x02,
        infinirtHostAllocWriteCombined=0x04,
    ),
    _flags(
        "Flags of infinirtHostRegister.",
        infinirtHostRegisterDefault=0x00,
        infinirtHostRegisterPortable=0x01,
        infinirtHostRegisterMapped=0x02,
        infinirtHostRegisterIoMemory=0x04,
        infinirtHostRegisterReadOnly=0x08,
    ),
    _flags("Flags of infinirtDeviceEnablePeerAccess.", infinirtPeerAccessDefault=0x00),
    _flags(
        "Flags of infinirtStreamCreateWithFlags.",
        infinirtStreamDefault=0x00,
        infinirtStreamNonBlocking=0x01,
    ),
    DefineGroup(
        "Predefined streams: the legacy default stream, and the default stream of the calling thread.",
        (
            Define("infinirtStreamLegacy", "((infinirtStream_t)0x1)", 1),
            Define("infinirtStreamPerThread", "((infinirtStream_t)0x2)", 2),
        ),
    ),
    _flags(
        "Flags of infinirtEventCreateWithFlags.",
        infinirtEventDefault=0x00,
        infinirtEventBlockingSync=0x01,
        infinirtEventDisableTiming=0x02,
        infinirtEventInterprocess=0x04,
    ),
    _flags(
        "Flags of infinirtEventRecordWithFlags.",
        infinirtEventRecordDefault=0x00,
        infinirtEventRecordExternal=0x01,
    ),
    _flags(
        "Flags of infinirtStreamWaitEvent.",
        infinirtEventWaitDefault=0x00,
        infinirtEventWaitExternal=0x01,
    ),
    _flags(
        "Flags of infinirtSetDeviceFlags.",
        infinirtDeviceScheduleAuto=0x00,
        infinirtDeviceScheduleSpin=0x01,
        infinirtDeviceScheduleYield=0x02,
        infinirtDeviceScheduleBlockingSync=0x04,
        infinirtDeviceBlockingSync=0x04,
        infinirtDeviceScheduleMask=0x07,
        infinirtDeviceMapHost=0x08,
        infinirtDeviceLmemResizeToMax=0x10,
        infinirtDeviceSyncMemops=0x80,
        infinirtDeviceMask=0xFF,
    ),
    _flags("Flags of infinirtInitDevice.", infinirtInitDeviceFlagsAreValid=0x01),
    _flags("Flags of infinirtIpcOpenMemHandle.", infinirtIpcMemLazyEnablePeerAccess=0x01),
    DefineGroup("Size of the IPC handles.", (Define("INFINIRT_IPC_HANDLE_SIZE", "64", 64, False),)),
    _flags(
        "Flags of infinirtMallocManaged and infinirtStreamAttachMemAsync.",
        infinirtMemAttachGlobal=0x01,
        infinirtMemAttachHost=0x02,
        infinirtMemAttachSingle=0x04,
    ),
    _flags("Usage flags of infinirtMemPoolProps.", infinirtMemPoolCreateUsageHwDecompress=0x02),
    _flags(
        "Flags of infinirtOccupancyMaxActiveBlocksPerMultiprocessorWithFlags.",
        infinirtOccupancyDefault=0x00,
        infinirtOccupancyDisableCachingOverride=0x01,
    ),
    DefineGroup(
        "Device numbers that name no device: the host, and nothing.",
        (
            Define("infinirtCpuDeviceId", "((int)-1)", -1),
            Define("infinirtInvalidDeviceId", "((int)-2)", -2),
        ),
    ),
    DefineGroup(
        "Ports of kernel nodes in infinirtGraphEdgeData.",
        (
            Define("infinirtGraphKernelNodePortDefault", "0", 0),
            Define("infinirtGraphKernelNodePortProgrammatic", "1", 1),
            Define("infinirtGraphKernelNodePortLaunchCompletion", "2", 2),
        ),
    ),
    _renames(
        "Stream attributes are launch attributes.",
        ("infinirtStreamAttrID", "infinirtLaunchAttributeID"),
        ("infinirtStreamAttrValue", "infinirtLaunchAttributeValue"),
        ("infinirtStreamAttributeAccessPolicyWindow", "infinirtLaunchAttributeAccessPolicyWindow"),
        ("infinirtStreamAttributeSynchronizationPolicy", "infinirtLaunchAttributeSynchronizationPolicy"),
        ("infinirtStreamAttributeMemSyncDomainMap", "infinirtLaunchAttributeMemSyncDomainMap"),
        ("infinirtStreamAttributeMemSyncDomain", "infinirtLaunchAttributeMemSyncDomain"),
        ("infinirtStreamAttributePriority", "infinirtLaunchAttributePriority"),
    ),
    _renames(
        "So are kernel node attributes.",
        ("infinirtKernelNodeAttrID", "infinirtLaunchAttributeID"),
        ("infinirtKernelNodeAttrValue", "infinirtLaunchAttributeValue"),
        ("infinirtKernelNodeAttributeAccessPolicyWindow", "infinirtLaunchAttributeAccessPolicyWindow"),
        ("infinirtKernelNodeAttributeCooperative", "infinirtLaunchAttributeCooperative"),
        ("infinirtKernelNodeAttributePriority", "infinirtLaunchAttributePriority"),
        ("infinirtKernelNodeAttributeClusterDimension", "infinirtLaunchAttributeClusterDimension"),
        (
            "infinirtKernelNodeAttributeClusterSchedulingPolicyPreference",
            "infinirtLaunchAttributeClusterSchedulingPolicyPreference",
        ),
        ("infinirtKernelNodeAttributeMemSyncDomainMap", "infinirtLaunchAttributeMemSyncDomainMap"),
        ("infinirtKernelNodeAttributeMemSyncDomain", "infinirtLaunchAttributeMemSyncDomain"),
        (
            "infinirtKernelNodeAttributePreferredSharedMemoryCarveout",
            "infinirtLaunchAttributePreferredSharedMemoryCarveout",
        ),
        (
            "infinirtKernelNodeAttributeDeviceUpdatableKernelNode",
            "infinirtLaunchAttributeDeviceUpdatableKernelNode",
        ),
    ),
)
