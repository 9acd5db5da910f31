// Events shared between processes, through the public API on the CPU device.
#include <chrono>
#include <thread>

#include "gate.h"
#include "ipc_support.h"

CHILD(event_opener) {
  const auto handle = receive<infinirtIpcEventHandle_t>(kChannel);
  infinirtEvent_t event = nullptr;
  OK(infinirtIpcOpenEventHandle(&event, handle));
  OK(infinirtEventQuery(event));  // not recorded yet
  send_value(kChannel, 0);
  receive<int>(kChannel);  // now it is, and pending
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  OK(infinirtStreamWaitEvent(stream, event, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  send_value(kChannel, 0);
  OK(infinirtEventSynchronize(event));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtEventQuery(event));
  // The other way round: recorded here, waited for there.
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(event, stream));
  send_value(kChannel, 0);
  receive<int>(kChannel);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  receive<int>(kChannel);
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(events_order_work_of_two_processes) {
  Peer peer("event_opener");
  infinirtEvent_t event = make_shared_event();
  infinirtIpcEventHandle_t handle, again;
  OK(infinirtIpcGetEventHandle(&handle, event));
  OK(infinirtIpcGetEventHandle(&again, event));
  CHECK_EQ(std::memcmp(&handle, &again, sizeof handle), 0);
  infinirtEvent_t own = nullptr;
  CHECK_EQ(infinirtIpcOpenEventHandle(&own, handle), infinirtErrorDeviceUninitialized);
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  send_value(peer.channel, handle);
  receive<int>(peer.channel);
  {
    Gate gate;
    OK(gate.hold(stream));
    OK(infinirtEventRecord(event, stream));
    CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
    send_value(peer.channel, 0);
    receive<int>(peer.channel);
    gate.open();
    OK(infinirtStreamSynchronize(stream));
  }
  receive<int>(peer.channel);  // the other process has recorded it
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  OK(infinirtStreamWaitEvent(stream, event, 0));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  send_value(peer.channel, 0);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtEventQuery(event));
  OK(infinirtEventDestroy(event));
  send_value(peer.channel, 0);
  CHECK_EQ(peer.join(), 0);
  OK(infinirtStreamDestroy(stream));
}

TEST(an_event_recorded_before_it_was_shared_keeps_its_state) {
  infinirtEvent_t event = make_shared_event();
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(event, stream));
  infinirtIpcEventHandle_t handle;
  OK(infinirtIpcGetEventHandle(&handle, event));
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  gate.open();
  OK(infinirtEventSynchronize(event));
  OK(infinirtEventQuery(event));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(many_records_in_flight_and_a_wait_for_an_early_one) {
  infinirtEvent_t event = make_shared_event();
  infinirtIpcEventHandle_t handle;
  OK(infinirtIpcGetEventHandle(&handle, event));
  infinirtStream_t slow = nullptr, fast = nullptr, waiting = nullptr;
  for (auto* stream : {&slow, &fast, &waiting}) OK(infinirtStreamCreateWithFlags(stream, infinirtStreamNonBlocking));
  Gate gate;
  OK(gate.hold(slow));
  OK(infinirtEventRecord(event, slow));
  OK(infinirtStreamWaitEvent(waiting, event, 0));
  for (int i = 0; i < 1000; ++i) OK(infinirtEventRecord(event, fast));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_EQ(infinirtStreamQuery(waiting), infinirtErrorNotReady);  // later records do not release it
  gate.open();
  OK(infinirtStreamSynchronize(waiting));
  OK(infinirtEventSynchronize(event));
  OK(infinirtEventDestroy(event));  // a pending record or none: never a crash
  OK(infinirtDeviceSynchronize());
  for (auto stream : {slow, fast, waiting}) OK(infinirtStreamDestroy(stream));
}

TEST(event_handles_are_checked) {
  infinirtEvent_t plain = nullptr, opened = nullptr;
  infinirtIpcEventHandle_t handle = {};
  OK(infinirtEventCreateWithFlags(&plain, infinirtEventDisableTiming));
  CHECK_EQ(infinirtIpcGetEventHandle(&handle, plain), infinirtErrorInvalidResourceHandle);
  CHECK(says("infinirtEventInterprocess"));
  OK(infinirtEventDestroy(plain));
  CHECK_EQ(infinirtIpcGetEventHandle(&handle, plain), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtIpcOpenEventHandle(&opened, handle), infinirtErrorMapBufferObjectFailed);
  CHECK_EQ(infinirtIpcOpenEventHandle(nullptr, handle), infinirtErrorInvalidValue);
}

CHILD(event_exporter) {
  infinirtEvent_t event = make_shared_event();
  infinirtIpcEventHandle_t handle;
  OK(infinirtIpcGetEventHandle(&handle, event));
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(event, stream));
  send_value(kChannel, handle);
  receive<int>(kChannel);  // never comes: this process is killed
}

CHILD(waits_for_the_dead) {  // in a process of its own: the device's error lasts
  Peer peer("event_exporter");
  const auto handle = receive<infinirtIpcEventHandle_t>(peer.channel);
  infinirtEvent_t event = nullptr, late = nullptr;
  OK(infinirtIpcOpenEventHandle(&event, handle));
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  OK(infinirtStreamWaitEvent(stream, event, 0));
  kill(peer.process, SIGKILL);  // not waited for: it stays a zombie, and must count as dead
  CHECK_NE(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK(says("ended"));
  peer.join();
  CHECK_EQ(infinirtDeviceReset(), infinirtSuccess);
  CHECK_EQ(infinirtIpcOpenEventHandle(&late, handle), infinirtErrorMapBufferObjectFailed);
}
TEST(a_killed_recorder_is_noticed) {
  skip_on_native("a real driver does not promise it");
  CHECK_EQ(child::run("waits_for_the_dead", {}), 0);
}

CHILD_MAIN()
