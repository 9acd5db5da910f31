// The vendors' device types. Registering one looks for nothing.
#include <cstdlib>

#include "backends/vendors/other_names.h"
#include "backends/vendors/vendor_engine.h"

namespace infinirt::vendors {

namespace {

void add(Vendor vendor) {
  register_backend(&(new VendorEngine(std::move(vendor)))->backend);  // for the life of the process, as all backends
}

Backend* register_all() {
  if (const char* visible = std::getenv("INFINIRT_VISIBLE_DEVICES")) report_other_names(visible);
  for (const Vendor& vendor : cuda_shaped_vendors()) add(vendor);
  add(ascend());
  add(cambricon());
  add(kunlun());
  return nullptr;
}

const BuiltinBackend registration(3, register_all);

}  // namespace

}  // namespace infinirt::vendors
