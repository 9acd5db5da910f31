"""Enum members that cuda.bindings 13 (up to 13.5) has beyond the 12.9 header, or with another value.

A program written for that module may name them, so the Python enums have them; the C header, which follows 12.9, does
not.
"""

from __future__ import annotations

MEMBERS: dict[str, dict[str, int]] = {
    "infinirtError_t": {
        "infinirtErrorVersionTranslation": 10,
        "infinirtErrorInsufficientLoaderVersion": 227,
        "infinirtErrorStreamDetached": 917,
        "infinirtErrorGraphRecaptureFailure": 918,
        "infinirtErrorFabricNotReady": 919,
    },
    "infinirtDeviceAttr": {
        "infinirtDevAttrReserved96": 96,
        "infinirtDevAttrHostMemoryPoolsSupported": 144,
        "infinirtDevAttrReserved145": 145,
        "infinirtDevAttrOnlyPartialHostNativeAtomicSupported": 147,
        "infinirtDevAttrAtomicReductionSupported": 148,
        "infinirtDevAttrLocalityDomainCount": 149,
        "infinirtDevAttrOversizedSharedMemoryPerBlock": 150,
        "infinirtDevAttrCigStreamsSupported": 151,
        "infinirtDevAttrLocalityDomainMultiprocessorCount": 157,
        "infinirtDevAttrTensorMapLargeTensorMinSize": 160,
        "infinirtDevAttrMax": 161,
    },
    "infinirtDeviceP2PAttr": {"infinirtDevP2PAttrOnlyPartialNativeAtomicSupported": 5},
    "infinirtLimit": {"infinirtLimitPerBlockMemorySize": 10},
    "infinirtMemLocationType": {
        "infinirtMemLocationTypeNone": 0,
        "infinirtMemLocationTypeInvisible": 5,
        "infinirtMemLocationTypeDeviceLocalityDomain": 6,
    },
    "infinirtMemAllocationType": {"infinirtMemAllocationTypeManaged": 2},
    "infinirtMemPoolAttr": {
        "infinirtMemPoolAttrAllocationType": 9,
        "infinirtMemPoolAttrExportHandleTypes": 10,
        "infinirtMemPoolAttrLocationId": 11,
        "infinirtMemPoolAttrLocationType": 12,
        "infinirtMemPoolAttrMaxPoolSize": 13,
        "infinirtMemPoolAttrHwDecompressEnabled": 14,
        "infinirtMemPoolAttrLocalityDomainId": 15,
    },
    "infinirtClusterSchedulingPolicy": {"infinirtClusterSchedulingPolicyRubinDsmemLocality": 3},
    "infinirtLaunchAttributeID": {
        "infinirtLaunchAttributeNvlinkUtilCentricScheduling": 16,
        "infinirtLaunchAttributePortableClusterSizeMode": 17,
        "infinirtLaunchAttributeSharedMemoryMode": 18,
    },
    "infinirtFuncAttribute": {
        "infinirtFuncAttributeSharedMemoryMode": 16,
        "infinirtFuncAttributeMax": 17,
    },
    "infinirtGraphNodeType": {
        "infinirtGraphNodeTypeMemcpyBatch": 14,
        "infinirtGraphNodeTypeReserved16": 16,
        "infinirtGraphNodeTypeExternalEngine": 17,
        "infinirtGraphNodeTypeCount": 18,
    },
    "infinirtGraphChildGraphNodeOwnership": {"infinirtGraphChildGraphOwnershipInvalid": -1},
    "infinirtGraphDebugDotFlags": {"infinirtGraphDebugDotFlagsMemcpyBatchNodeParams": 65536},
}

DEVICE_PROPERTIES: dict[str, str] = {
    "hostNumaId": "infinirtDevAttrHostNumaId",
    "hostNumaMultinodeIpcSupported": "infinirtDevAttrHostNumaMultinodeIpcSupported",
    "deviceNumaConfig": "infinirtDevAttrNumaConfig",
    "deviceNumaId": "infinirtDevAttrNumaId",
    "mpsEnabled": "infinirtDevAttrMpsEnabled",
    "gpuPciDeviceID": "infinirtDevAttrGpuPciDeviceId",
    "gpuPciSubsystemID": "infinirtDevAttrGpuPciSubsystemId",
}
"""Fields of 13's device properties that 12.9's struct lacks, each with the attribute that holds the value."""
