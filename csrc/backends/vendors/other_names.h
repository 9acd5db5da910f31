// Device types under the names that others have for them.
#pragma once

namespace infinirt {

// Says so on standard error if a list of devices (INFINIRT_VISIBLE_DEVICES) names a type as others do ("cuda:0"): no type would ever look at such an entry.
void report_other_names(const char* list);

}  // namespace infinirt
