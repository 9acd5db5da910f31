// Folders in which vendors' packages may lie: see infinirtXAddLibraryFolder.
#pragma once

#include <string>
#include <vector>

namespace infinirt {

void add_library_folder(const char* folder);

// In the order in which they were added, each once.
std::vector<std::string> library_folders();

}  // namespace infinirt
