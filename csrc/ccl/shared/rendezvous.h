// How processes find one another: by an id, over a socket that has no name in any file system.
#pragma once

#include <string>

#include "ccl/shared/layout.h"
#include "infiniccl.h"

namespace infiniccl::shared {

// Begins to listen for the ranks of a new id. False with a message in *problem.
bool make_unique_id(infinicclUniqueId_t* id, std::string* problem);
bool make_named_id(infinicclUniqueId_t* id, const char* name, std::string* problem);

struct Joined {
  Map map;
  int socket = -1;  // stays open: whoever closes it without a farewell is dead
  int host_rank = -1;  // a rank that lives in the process that listens: when that ends, the rank has, too
  bool staged = false;  // some rank's memory cannot be reached by its host
};

// Waits until all ranks have joined, at most so long; `stages`: the memory of this rank's device cannot be reached. False with a message
// in *problem.
bool join(const infinicclUniqueId_t& id, int size, int rank, bool stages, int64_t timeout_ns, Joined* joined,
          std::string* problem);

// Whether the process at the other end of the socket has ended.
bool host_is_gone(int socket);
// Says that this rank ends as it should.
void say_farewell(int socket);

}  // namespace infiniccl::shared
