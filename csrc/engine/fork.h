// What fork means for engine-run devices: the child has the memory as it was at the fork, streams that are empty, and no
// workers until it needs some. Work that was pending is lost there, and events that stood for it say so.
#pragma once

namespace infinirt {

// Installs the handlers; called once, when the first engine is made.
void install_fork_handlers();

}  // namespace infinirt
