#include "ccl/group.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "ccl/batch.h"
#include "ccl/runtime.h"
#include "ccl/staged/stage.h"

namespace infiniccl {

namespace {

// One stream's share of a group.
struct Share {
  infinirtStream_t stream;
  const char* device_type;
  int device;
  std::vector<Part> parts;
};

struct Group {
  int depth = 0;
  infiniStatus_t refused = INFINI_STATUS_SUCCESS;
  std::vector<Share> shares;
};

thread_local Group t_group;

bool is_predefined(infinirtStream_t stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

// Parts that the transports take as they are.
infinirtError_t launch_plain(Share& share, infinirtStream_t identity, bool captured) {
  for (Part& part : share.parts) part.world->issue(part, identity);
  if (std::none_of(share.parts.begin(), share.parts.end(),
                   [](const Part& part) { return part.world->takes_streams(); }))
    return launch_batch(std::move(share.parts), share.stream, captured);
  // One world at a time; what is left are steps.
  std::vector<Part> steps;
  for (size_t begin = 0; begin < share.parts.size();) {
    World& world = *share.parts[begin].world;
    size_t end = begin;
    while (end < share.parts.size() && share.parts[end].world.get() == &world) ++end;
    if (world.takes_streams()) {
      const std::string problem = world.enqueue({share.parts.data() + begin, end - begin}, share.stream);
      if (!problem.empty()) return infinirtXSetLastError(infinirtErrorUnknown, problem.c_str());
    } else {
      for (size_t i = begin; i < end; ++i) steps.push_back(std::move(share.parts[i]));
    }
    begin = end;
  }
  if (steps.empty()) return infinirtSuccess;
  return launch_batch(std::move(steps), share.stream, captured);
}

// Some go through lanes of their own meanwhile, from which the stream comes back when all are issued.
infinirtError_t launch_staged(Share& share, infinirtStream_t identity, bool captured) {
  staged::Fork fork(share.stream, identity);
  Share others{share.stream, share.device_type, share.device, {}};
  std::vector<std::shared_ptr<World>> begun;
  infinirtError_t error = infinirtSuccess;
  for (Part& part : share.parts) {
    if (!part.stage) {
      others.parts.push_back(std::move(part));
      continue;
    }
    if ((error = fork.add(part))) break;
    begun.push_back(part.world);
  }
  if (!error && !others.parts.empty()) error = launch_plain(others, identity, captured);
  const std::string message = error ? infinirtXGetLastErrorMessage() : "";
  if (const infinirtError_t joined = fork.join(); !error) error = joined;
  if (!error) return error;
  const std::string text = message.empty() ? infinirtXGetLastErrorMessage() : message;
  for (const auto& world : begun) {  // ranks would wait for what was not issued
    world->fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown,
                      format_text("a group was issued in part only: %s", text.c_str())});
  }
  return infinirtXSetLastError(error, text.c_str());
}

infinirtError_t launch(Share share) {
  // The predefined streams are those of the current device.
  std::optional<DeviceScope> scope;
  if (is_predefined(share.stream)) {
    scope.emplace(share.device_type, share.device);
    if (scope->error()) return scope->error();
  }
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  if (auto error = api().StreamIsCapturing(share.stream, &status)) return error;
  unsigned long long capture = 0;
  if (status != infinirtStreamCaptureStatusNone) {
    infinirtGraph_t graph = nullptr;
    const infinirtGraphNode_t* nodes = nullptr;
    size_t count = 0;
    if (auto error = api().StreamGetCaptureInfo(share.stream, &status, &capture, &graph, &nodes, &count)) return error;
  }
  const bool captured = status != infinirtStreamCaptureStatusNone;
  // The same number means another default stream on each device.
  const auto identity = is_predefined(share.stream)
                            ? reinterpret_cast<infinirtStream_t>(reinterpret_cast<uintptr_t>(share.stream) +
                                                                 4 * static_cast<uintptr_t>(share.device + 1))
                            : share.stream;
  for (Part& part : share.parts) {
    part.captured = captured;
    part.capture = capture;
    const std::string conflict = part.world->conflict(part, identity);
    if (!conflict.empty()) return infinirtXSetLastError(infinirtErrorInvalidValue, conflict.c_str());
  }
  const bool any_staged =
      std::any_of(share.parts.begin(), share.parts.end(), [](const Part& part) { return part.stage != nullptr; });
  return any_staged ? launch_staged(share, identity, captured) : launch_plain(share, identity, captured);
}

Share& share_of(Group& group, const Communicator& communicator, infinirtStream_t stream) {
  const auto found = std::find_if(group.shares.begin(), group.shares.end(), [&](const Share& share) {
    return share.stream == stream &&
           (!is_predefined(stream) ||
            (share.device == communicator.device && std::strcmp(share.device_type, communicator.device_type) == 0));
  });
  if (found != group.shares.end()) return *found;
  group.shares.push_back({stream, communicator.device_type, communicator.device, {}});
  return group.shares.back();
}

}  // namespace

infiniStatus_t submit(const char* function, const Communicator& communicator, Part part, infinirtStream_t stream) {
  if (t_group.depth > 0) {
    share_of(t_group, communicator, stream).parts.push_back(std::move(part));
    return INFINI_STATUS_SUCCESS;
  }
  Share share{stream, communicator.device_type, communicator.device, {}};
  share.parts.push_back(std::move(part));
  if (auto error = launch(std::move(share))) return fail_as_runtime(function, error);
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t refuse_in_group(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS && t_group.depth > 0 && t_group.refused == INFINI_STATUS_SUCCESS)
    t_group.refused = status;
  return status;
}

}  // namespace infiniccl

using namespace infiniccl;

infiniStatus_t infinicclGroupStart(infinicclComm_t comm) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  if (comm && !resolve(__func__, comm, &status)) return refuse_in_group(status);
  ++t_group.depth;
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclGroupCancel(infinicclComm_t) {
  if (t_group.depth == 0) return fail(__func__, INFINI_STATUS_BAD_PARAM, "this thread has begun no group");
  t_group = {};
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclGroupEnd(infinicclComm_t comm) try {
  if (t_group.depth == 0) return fail(__func__, INFINI_STATUS_BAD_PARAM, "this thread has begun no group");
  if (--t_group.depth > 0) return INFINI_STATUS_SUCCESS;
  (void)comm;  // a communicator that failed or was destroyed meanwhile must not keep the group open
  std::vector<Share> shares;
  shares.swap(t_group.shares);
  const infiniStatus_t refused = t_group.refused;
  t_group.refused = INFINI_STATUS_SUCCESS;
  if (refused != INFINI_STATUS_SUCCESS)
    return fail(__func__, refused, "a call of the group was refused, so nothing of the group was issued");
  std::vector<std::shared_ptr<World>> begun;
  begun.reserve(shares.size());
  std::shared_ptr<World> around;  // what waits until all shares are there
  for (const Share& share : shares) {
    for (const Part& part : share.parts) {
      if (!around && part.world->takes_streams()) around = part.world;
    }
  }
  if (around) around->begin_group();
  for (Share& share : shares) {
    const size_t issued = begun.size();
    for (const Part& part : share.parts) begun.push_back(part.world);
    if (auto error = launch(std::move(share))) {
      begun.resize(issued);
      const infiniStatus_t status = fail_as_runtime(__func__, error);
      if (around) around->end_group();
      // Ranks would wait for what was not issued.
      for (const auto& world : begun) {
        world->fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown,
                          format_text("a group was issued in part only: %s", infinirtXGetLastErrorMessage())});
      }
      return status;
    }
  }
  const std::string problem = around ? around->end_group() : "";
  if (!problem.empty()) return fail(__func__, INFINI_STATUS_INTERNAL_ERROR, "%s", problem.c_str());
  return INFINI_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return fail("infinicclGroupEnd", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}
