// INFINIRT_VISIBLE_DEVICES: which devices of a type the program is to see.
#pragma once

#include <string>
#include <vector>

namespace infinirt {

// A number without sign, of at most six digits.
bool parse_number(const std::string& text, int* number);

// The numbers of the devices that are offered, of those from 0 to `count` - 1, in order; empty with a problem when there are
// none. `type` is the prefix that entries of the list may carry ("cpu:0"); entries for other types are not ours.
std::vector<int> visible_devices(const char* type, int count, std::string* problem);

}  // namespace infinirt
