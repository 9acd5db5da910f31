// New error codes to old ones. The old generation has few: what the caller did wrong becomes BAD_PARAM, what a device or
// backend cannot do has codes of its own, and everything else, out of memory included, is INTERNAL_ERROR.
#include "selection.h"

namespace infinirt::v0 {

infiniStatus_t status_of(core::Error error) {
  switch (error) {
    case 0:
      return INFINI_STATUS_SUCCESS;
    case 1:  // InvalidValue
    case 12:  // InvalidPitchValue
    case 16:  // InvalidHostPointer
    case 17:  // InvalidDevicePointer
    case 21:  // InvalidMemcpyDirection
    case 400:  // InvalidResourceHandle
    case 401:  // IllegalState
    case 600:  // NotReady: elapsed time of an event that is not complete
    case 800:  // NotPermitted: called from a host function
      return INFINI_STATUS_BAD_PARAM;
    case 31:  // NotYetImplemented
    case 500:  // SymbolNotFound: the core library lacks the function
    case 801:  // NotSupported
      return INFINI_STATUS_NOT_IMPLEMENTED;
    case 100:  // NoDevice
    case 101:  // InvalidDevice
      return INFINI_STATUS_DEVICE_NOT_FOUND;
    case 3:  // InitializationError
    case 4:  // CudartUnloading
    case 34:  // StubLibrary
    case 35:  // InsufficientDriver
    case 46:  // DevicesUnavailable
    case 201:  // DeviceUninitialized
    case 802:  // SystemNotReady
    case 803:  // SystemDriverMismatch
      return INFINI_STATUS_DEVICE_NOT_INITIALIZED;
    case 209:  // NoKernelImageForDevice
    case 222:  // UnsupportedPtxVersion
    case 804:  // CompatNotSupportedOnDevice
      return INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED;
    default:
      // 900 to 908: calls that do not fit the state of a stream capture.
      return error >= 900 && error <= 908 ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_INTERNAL_ERROR;
  }
}

}  // namespace infinirt::v0
