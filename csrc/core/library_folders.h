// Folders in which vendors' packages may lie: see infinirtXAddLibraryFolder.
#pragma once

#include <string>
#include <vector>

namespace infinirt {

void add_library_folder(const char* folder);

// In the order in which they were added, each once.
std::vector<std::string> library_folders();
// One of them, for the life of the process; null behind the last.
const char* library_folder(int index);

}  // namespace infinirt
