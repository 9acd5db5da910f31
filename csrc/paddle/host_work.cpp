#include "host_work.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime.h"

namespace infinirt::paddle {

namespace {

void check(Error error) {
  if (error) throw std::runtime_error(std::string("infinirt: ") + infinirtXGetLastErrorMessage());
}

struct Enqueued {
  HostWork work;
  std::vector<char*> addresses;

  static void run(void* self) {
    auto* enqueued = static_cast<Enqueued*>(self);
    enqueued->work(enqueued->addresses);
  }
  static void destroy(void* self) { delete static_cast<Enqueued*>(self); }
};

// False: the host has no way to this memory. All devices are of one type, so one answer is enough.
bool find_host_addresses(const std::vector<Operand>& operands, std::vector<char*>* addresses) {
  static std::atomic<bool> out_of_reach{false};
  if (out_of_reach) return false;
  for (const Operand& operand : operands) {
    void* address = nullptr;
    const Error error = infinirtXGetHostAddress(&address, operand.pointer);
    if (error == infinirtErrorNotSupported) {
      out_of_reach = true;
      return false;
    }
    check(error);
    addresses->push_back(static_cast<char*>(address));
  }
  return true;
}

void work_on_copies(infinirtStream_t stream, const std::vector<Operand>& operands, const HostWork& work) {
  std::vector<std::unique_ptr<char[]>> copies;
  std::vector<char*> addresses;
  check(api().StreamSynchronize(stream));
  for (const Operand& operand : operands) {
    copies.emplace_back(new char[operand.bytes]);
    addresses.push_back(copies.back().get());
    check(api().Memcpy(addresses.back(), operand.pointer, operand.bytes, infinirtMemcpyDeviceToHost));
  }
  work(addresses);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].written) continue;
    check(api().Memcpy(const_cast<void*>(operands[i].pointer), addresses[i], operands[i].bytes,
                       infinirtMemcpyHostToDevice));
  }
}

}  // namespace

void enqueue_host_work(infinirtPluginStream_t stream, const std::vector<Operand>& operands, HostWork work) {
  const TypeScope scope;
  check(scope.error());
  auto enqueued = std::make_unique<Enqueued>();
  if (!find_host_addresses(operands, &enqueued->addresses)) return work_on_copies(stream_of(stream), operands, work);
  enqueued->work = std::move(work);
  check(infinirtXLaunchHostFunc(stream_of(stream), Enqueued::run, enqueued.release(), Enqueued::destroy));
}

}  // namespace infinirt::paddle
