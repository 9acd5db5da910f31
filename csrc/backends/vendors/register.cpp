// The vendors' device types. Registering one looks for nothing.
#include "backends/vendors/vendor_engine.h"

namespace infinirt::vendors {

namespace {

void add(Vendor vendor) {
  register_backend(&(new VendorEngine(std::move(vendor)))->backend);  // for the life of the process, as all backends
}

Backend* register_all() {
  for (const Vendor& vendor : cuda_shaped_vendors()) add(vendor);
  add(ascend());
  add(cambricon());
  add(kunlun());
  return nullptr;
}

const BuiltinBackend registration(3, register_all);

}  // namespace

}  // namespace infinirt::vendors
