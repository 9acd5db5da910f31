// Copies and sets: results, checks, batches and several devices, on the CPU device.
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "child.h"
#include "copy_support.h"
#include "gate.h"
#include "waiting.h"

TEST(bytes_arrive_through_every_kind_of_memory) {
  for (size_t size : {size_t{1}, kSmall, size_t{40000}, size_t{100000}, kLarge}) {
    Memory m(size);
    OK(infinirtMemcpy(m.device, m.host.data(), size, infinirtMemcpyHostToDevice));
    OK(infinirtMemcpy(m.device2, m.device, size, infinirtMemcpyDeviceToDevice));
    OK(infinirtMemcpy(m.managed, m.device2, size, infinirtMemcpyDefault));
    OK(infinirtMemcpy(m.pinned, m.managed, size, infinirtMemcpyDeviceToHost));
    OK(infinirtMemcpy(m.host2.data(), m.pinned, size, infinirtMemcpyHostToHost));
    CHECK(m.host == m.host2);
    NewStream stream;
    std::memset(m.host2.data(), 0, size);
    OK(infinirtMemsetAsync(m.device, 0, size, stream));
    OK(infinirtMemcpyAsync(m.device, m.host.data(), size, infinirtMemcpyHostToDevice, stream));
    OK(infinirtMemcpyAsync(m.device2, m.device, size, infinirtMemcpyDeviceToDevice, stream));
    OK(infinirtMemcpyAsync(m.host2.data(), m.device2, size, infinirtMemcpyDeviceToHost, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK(m.host == m.host2);
  }
}

// Large copies are shared out in pieces and go past the caches: no byte is missed at odd starts and ends, or beyond.
TEST(large_copies_of_any_alignment) {
  constexpr size_t size = (size_t{16} << 20) + 12345, room = size + 256;
  std::vector<unsigned char> host(room), back(room);
  for (size_t i = 0; i < room; ++i) host[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  char *from = nullptr, *to = nullptr;
  OK(infinirtMalloc(reinterpret_cast<void**>(&from), room));
  OK(infinirtMalloc(reinterpret_cast<void**>(&to), room));
  OK(infinirtMemcpy(from, host.data(), room, infinirtMemcpyHostToDevice));
  for (auto [dst, src] : {std::pair<size_t, size_t>{0, 0}, {1, 0}, {0, 63}, {65, 17}, {127, 127}}) {
    OK(infinirtMemset(to, 0xee, room));
    OK(infinirtMemcpy(to + dst, from + src, size, infinirtMemcpyDeviceToDevice));
    OK(infinirtMemcpy(back.data(), to, room, infinirtMemcpyDeviceToHost));
    CHECK(std::memcmp(back.data() + dst, host.data() + src, size) == 0);
    for (size_t i = 0; i < dst; ++i) CHECK_EQ(int{back[i]}, 0xee);
    for (size_t i = dst + size; i < room; ++i) CHECK_EQ(int{back[i]}, 0xee);
  }
  OK(infinirtFree(from));
  OK(infinirtFree(to));
}

TEST(nothing_to_copy_is_a_success) {
  OK(infinirtMemcpy(nullptr, nullptr, 0, infinirtMemcpyHostToDevice));
  OK(infinirtMemcpy(nullptr, nullptr, 0, static_cast<enum infinirtMemcpyKind>(9)));
  OK(infinirtMemset(nullptr, 0, 0));
  OK(infinirtMemcpyAsync(nullptr, nullptr, 0, infinirtMemcpyDefault, nullptr));
  infinirtStream_t dead = nullptr;
  OK(infinirtStreamCreate(&dead));
  OK(infinirtStreamDestroy(dead));
  FAILS(infinirtMemcpyAsync(nullptr, nullptr, 0, infinirtMemcpyDefault, dead), infinirtErrorInvalidResourceHandle);
  FAILS(infinirtMemsetAsync(nullptr, 0, 0, dead), infinirtErrorInvalidResourceHandle);
}

TEST(what_is_known_to_be_wrong_is_refused) {
  Memory m(4096);
  char* host = m.host.data();
  FAILS(infinirtMemcpy(nullptr, host, 8, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpy(m.device, nullptr, 8, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemcpy(m.device + 4000, host, 97, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  CHECK(says("dst ") && says("96 bytes left in its allocation of 4096 bytes at " + device_name(0)) && says("97"));
  CHECK_EQ(infinirtMemcpy(host, m.device + 4000, 97, infinirtMemcpyDeviceToHost), infinirtErrorInvalidValue);
  CHECK(says("src "));
  FAILS(infinirtMemcpy(m.device, m.pinned + 1, 4096, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpyAsync(m.device, host, SIZE_MAX, infinirtMemcpyHostToDevice, nullptr), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpy(m.device, host, 8, static_cast<enum infinirtMemcpyKind>(9)),
        infinirtErrorInvalidMemcpyDirection);
  FAILS(infinirtMemset(m.device + 4090, 0, 7), infinirtErrorInvalidValue);
  FAILS(infinirtMemset(nullptr, 0, 7), infinirtErrorInvalidValue);
  FAILS(infinirtMemset(host, 0, 7), infinirtErrorInvalidValue);
  void* freed = nullptr;
  OK(infinirtMalloc(&freed, 64));
  OK(infinirtFree(freed));
  CHECK_EQ(infinirtMemcpy(freed, host, 8, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  CHECK(says("was freed"));
  if (unless_native("the real library takes what it does not know for memory of the host, and crashes")) {
    CHECK_EQ(infinirtMemcpyAsync(host, freed, 8, infinirtMemcpyDefault, nullptr), infinirtErrorInvalidValue);
    CHECK(says("src ") && says("was freed"));
  }
  CHECK_EQ(infinirtMemset(freed, 0, 8), infinirtErrorInvalidValue);
  CHECK(says("was freed"));
}

// As measured on a GPU: known pointers decide; plain host memory where the kind says "device" is an error.
TEST(the_kind_must_fit_what_is_known) {
  Memory m(64);
  char *host = m.host.data(), *host2 = m.host2.data();
  for (auto kind : {infinirtMemcpyHostToHost, infinirtMemcpyHostToDevice, infinirtMemcpyDeviceToHost}) {
    OK(infinirtMemcpy(m.device, m.device2, 64, kind));
    OK(infinirtMemcpy(m.pinned, m.device, 64, kind));
  }
  FAILS(infinirtMemcpy(host, m.device, 64, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpy(m.device, host, 64, infinirtMemcpyDeviceToHost), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpy(m.device, host, 64, infinirtMemcpyDeviceToDevice), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemcpy(host2, host, 64, infinirtMemcpyDeviceToDevice), infinirtErrorInvalidValue);
  CHECK(says("infinirtMemcpyDefault"));
  infinirtGetLastError();
  OK(infinirtMemcpy(m.pinned, m.device, 64, infinirtMemcpyDeviceToDevice));
  OK(infinirtMemcpy(host2, host, 64, infinirtMemcpyDefault));
  OK(infinirtDeviceSynchronize());
}

TEST(the_default_kind_goes_by_the_pointers) {
  Memory m(kSmall);
  const std::vector<char> expected = m.host;
  OK(infinirtMemcpy(m.device, m.host.data(), kSmall, infinirtMemcpyDefault));
  OK(infinirtMemcpy(m.device2, m.device, kSmall, infinirtMemcpyDefault));
  OK(infinirtMemcpy(m.pinned, m.device2, kSmall, infinirtMemcpyDefault));
  OK(infinirtMemcpy(m.device, m.pinned, kSmall, infinirtMemcpyDefault));
  OK(infinirtMemcpy(m.host2.data(), m.device, kSmall, infinirtMemcpyDefault));
  CHECK(m.host2 == expected);
}

TEST(planes_and_volumes) {
  constexpr size_t kWidth = 24, kHeight = 5, kDepth = 3;
  Memory m(1 << 16);
  char* host = m.host.data();
  OK(infinirtMemset(m.device, 0x11, 1 << 16));
  OK(infinirtMemcpy2D(m.device, 64, host, 32, kWidth, kHeight, infinirtMemcpyHostToDevice));
  OK(infinirtMemcpy2D(m.host2.data(), 48, m.device, 64, 48, kHeight, infinirtMemcpyDeviceToHost));
  for (size_t y = 0; y < kHeight; ++y) {
    CHECK(std::memcmp(&m.host2[y * 48], host + y * 32, kWidth) == 0);
    CHECK_EQ(int{m.host2[y * 48 + kWidth]}, 0x11);
  }
  struct infinirtMemcpy3DParms p = {};
  p.srcPtr = {host, 32, 32, 8};
  p.srcPos = {2, 1, 1};
  p.dstPtr = {m.device, 64, 64, 9};
  p.dstPos = {4, 3, 2};
  p.extent = {kWidth, kHeight, kDepth};
  p.kind = infinirtMemcpyHostToDevice;
  NewStream stream;
  OK(infinirtMemset3D(p.dstPtr, 0x22, {64, 9, 6}));
  OK(infinirtMemcpy3DAsync(&p, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtMemcpy(m.host2.data(), m.device, 64 * 9 * 6, infinirtMemcpyDeviceToHost));
  for (size_t z = 0; z < 6; ++z) {
    for (size_t y = 0; y < 9; ++y) {
      for (size_t x = 0; x < 64; ++x) {
        const bool inside = x >= 4 && x < 4 + kWidth && y >= 3 && y < 3 + kHeight && z >= 2 && z < 2 + kDepth;
        const char expected = inside ? host[((z - 1) * 8 + y - 2) * 32 + x - 2] : char{0x22};
        if (m.host2[(z * 9 + y) * 64 + x] != expected) CHECK(false);
      }
    }
  }
}

TEST(bad_planes_and_volumes) {
  Memory m(4096);
  char* host = m.host.data();
  constexpr size_t kHuge = size_t{1} << 62;
  FAILS(infinirtMemcpy2D(m.device, 32, host, 64, 64, 2, infinirtMemcpyHostToDevice), infinirtErrorInvalidPitchValue);
  FAILS(infinirtMemcpy2D(m.device, 64, host, 32, 64, 2, infinirtMemcpyHostToDevice), infinirtErrorInvalidPitchValue);
  FAILS(infinirtMemcpy2D(m.device, 32, host, 64, 64, 1, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpy2D(m.device, 64, host, 64, 64, 65, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpy2D(m.device, kHuge, host, kHuge, 8, 8, infinirtMemcpyHostToDevice), infinirtErrorInvalidValue);
  OK(infinirtMemcpy2D(m.device, kHuge, host, kHuge, 8, 1, infinirtMemcpyHostToDevice));
  OK(infinirtMemcpy2D(m.device, 64, host, 64, 0, 65, infinirtMemcpyHostToDevice));
  FAILS(infinirtMemset2D(m.device, 32, 0, 64, 2), infinirtErrorInvalidValue);
  OK(infinirtMemset2D(m.device, 32, 0, 64, 1));
  FAILS(infinirtMemset2D(m.device, 64, 0, 64, 65), infinirtErrorInvalidValue);
  FAILS(infinirtMemset2D(m.device, kHuge, 0, 8, 8), infinirtErrorInvalidValue);

  struct infinirtMemcpy3DParms good = {};
  good.srcPtr = {host, 64, 64, 4};
  good.dstPtr = {m.device, 64, 64, 4};
  good.extent = {64, 4, 4};
  good.kind = infinirtMemcpyHostToDevice;
  OK(infinirtMemcpy3D(&good));
  FAILS(infinirtMemcpy3D(nullptr), infinirtErrorInvalidValue);
  infinirtGraph_t graph = nullptr;
  OK(infinirtGraphCreate(&graph, 0));
  auto with = [&](auto change) {
    struct infinirtMemcpy3DParms p = good;
    change(p);
    const infinirtError_t error = infinirtMemcpy3D(&p);
    infinirtGetLastError();
    // A node of a graph is described by the same struct, and rejects what the call rejects.
    infinirtGraphNode_t node = nullptr;
    const bool nothing = p.extent.depth == 0;  // only a call may copy nothing
    CHECK_EQ(infinirtGraphAddMemcpyNode(&node, graph, nullptr, 0, &p), nothing ? infinirtErrorInvalidValue : error);
    infinirtGetLastError();
    return error;
  };
  CHECK_EQ(with([](auto& p) { p.extent.height = 5; }), infinirtErrorInvalidPitchValue);
  CHECK_EQ(with([](auto& p) { p.extent = {64, 5, 1}; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.extent = {65, 1, 1}; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.extent = {65, 2, 1}; }), infinirtErrorInvalidPitchValue);
  CHECK_EQ(with([](auto& p) { p.extent = {65, 1, 2}; }), infinirtErrorInvalidPitchValue);
  CHECK_EQ(with([](auto& p) { p.srcPos.x = 1; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.srcPos.y = 1; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.extent = {64, 1, 1}, p.srcPtr.pitch = p.srcPtr.ysize = 0; }), infinirtSuccess);
  CHECK_EQ(with([](auto& p) { p.extent = {64, 2, 1}, p.srcPtr.ysize = 0; }), infinirtSuccess);
  CHECK_EQ(with([](auto& p) { p.extent = {64, 2, 1}, p.srcPtr.pitch = 0; }), infinirtErrorInvalidPitchValue);
  CHECK_EQ(with([](auto& p) { p.extent = {64, 1, 2}, p.srcPtr.ysize = 0; }), infinirtErrorInvalidPitchValue);
  CHECK_EQ(with([](auto& p) { p.extent.depth = 1, p.srcPos.x = 1; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.extent.depth = 1, p.srcPos.y = SIZE_MAX; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.extent.depth = 1, p.dstPos.z = 16; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.extent.depth = 1, p.dstPos.z = SIZE_MAX / 128; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.extent.depth = 17; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.srcPtr.ptr = nullptr; }), infinirtErrorInvalidValue);
  CHECK_EQ(with([](auto& p) { p.srcPtr.ptr = nullptr, p.extent.depth = 0; }), infinirtSuccess);
  if (unless_native(kInventedHandle)) {
    CHECK_EQ(with([](auto& p) { p.srcPtr.ptr = nullptr, p.srcArray = reinterpret_cast<infinirtArray_t>(64); }),
             infinirtErrorNotSupported);
    CHECK_EQ(with([](auto& p) { p.srcArray = reinterpret_cast<infinirtArray_t>(64); }), infinirtErrorInvalidValue);
  }
  FAILS(infinirtMemset3D(good.dstPtr, 0, {64, 5, 2}), infinirtErrorInvalidValue);
  OK(infinirtMemset3D(good.dstPtr, 0, {65, 1, 1}));
  FAILS(infinirtMemset3D(good.dstPtr, 0, {64, 4, 17}), infinirtErrorInvalidValue);
  OK(infinirtGraphDestroy(graph));
}

// CUDA 13's functions no longer say which copy was wrong.
bool is_index(size_t failed, size_t expected) { return failed == expected || (on_native() && failed == SIZE_MAX); }

TEST(batches) {
  Memory m(kLarge);
  NewStream stream;
  void* dsts[] = {m.device, m.device + 1000};
  void* srcs[] = {m.pinned, m.host.data()};
  size_t sizes[] = {100, 200}, first[] = {0, 1}, failed = 0;
  struct infinirtMemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = infinirtMemcpySrcAccessOrderStream;
  attributes[1].srcAccessOrder = infinirtMemcpySrcAccessOrderDuringApiCall;
  auto batch = [&](size_t count, size_t number_of_attributes) {
    return infinirtMemcpyBatchAsync(dsts, srcs, sizes, count, attributes, first, number_of_attributes, &failed, stream);
  };
  std::memset(m.pinned, 9, 100);
  OK(batch(2, 2));
  OK(infinirtMemcpyAsync(m.host2.data(), m.device, 1200, infinirtMemcpyDeviceToHost, stream));
  CHECK_EQ(int{m.host2[99]}, 9);
  CHECK(std::memcmp(&m.host2[1000], m.host.data(), 200) == 0);

  FAILS(batch(0, 1), infinirtErrorInvalidValue);
  FAILS(batch(2, 0), infinirtErrorInvalidValue);
  FAILS(batch(2, 3), infinirtErrorInvalidValue);
  CHECK_EQ(failed, SIZE_MAX);
  FAILS(infinirtMemcpyBatchAsync(dsts, srcs, sizes, 2, attributes, first, 1, &failed, nullptr),
        infinirtErrorInvalidValue);
  sizes[1] = 0;
  FAILS(batch(2, 1), infinirtErrorInvalidValue);
  CHECK(is_index(failed, 1));
  sizes[1] = kLarge;  // more than is left of dsts[1]
  OK(infinirtMemset(m.device, 0, 100));
  FAILS(batch(2, 1), infinirtErrorInvalidValue);
  CHECK(is_index(failed, 1));
  OK(infinirtMemcpy(m.host2.data(), m.device, 100, infinirtMemcpyDeviceToHost));
  if (unless_native("a real driver runs a refused batch up to what is wrong")) CHECK_EQ(int{m.host2[99]}, 0);
  sizes[1] = 200;
  attributes[0].srcAccessOrder = infinirtMemcpySrcAccessOrderInvalid;
  FAILS(batch(2, 1), infinirtErrorInvalidValue);
  CHECK(is_index(failed, 0));

  // During the call means: however large, and whatever the stream is doing, the source is free afterwards.
  if (!unless_native("a real driver waits for the stream")) return;
  attributes[0].srcAccessOrder = infinirtMemcpySrcAccessOrderDuringApiCall;
  sizes[1] = kLarge - 1000;
  const char last = m.host[kLarge - 1001];
  CHECK(returns_at_once(stream, [&] {
    const infinirtError_t error = batch(2, 1);
    m.host[kLarge - 1001] = static_cast<char>(last + 1);
    return error;
  }));
  OK(infinirtMemcpy(m.host2.data(), m.device, kLarge, infinirtMemcpyDeviceToHost));
  CHECK_EQ(int{m.host2[kLarge - 1]}, int{last});
}

TEST(batches_of_volumes) {
  Memory m(4096);
  NewStream stream;
  struct infinirtMemcpy3DBatchOp op = {};
  op.src.type = op.dst.type = infinirtMemcpyOperandTypePointer;
  op.src.op.ptr.ptr = m.host.data();
  op.src.op.ptr.rowLength = 16;
  op.src.op.ptr.layerHeight = 4;
  op.dst.op.ptr.ptr = m.device;  // tightly packed
  op.extent = {8, 2, 3};
  op.srcAccessOrder = infinirtMemcpySrcAccessOrderAny;
  size_t failed = 0;
  OK(infinirtMemcpy3DBatchAsync(1, &op, &failed, 0, stream));
  OK(infinirtMemcpyAsync(m.host2.data(), m.device, 48, infinirtMemcpyDeviceToHost, stream));
  for (size_t i = 0; i < 48; ++i) CHECK_EQ(int{m.host2[i]}, int{m.host[i / 16 * 64 + i / 8 % 2 * 16 + i % 8]});
  FAILS(infinirtMemcpy3DBatchAsync(0, &op, &failed, 0, stream), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpy3DBatchAsync(1, &op, &failed, 1, stream), infinirtErrorInvalidValue);
  op.src.op.ptr.rowLength = 7;
  FAILS(infinirtMemcpy3DBatchAsync(1, &op, &failed, 0, stream), infinirtErrorInvalidValue);
  CHECK(is_index(failed, 0));
  if (unless_native(kInventedHandle)) {
    op.src.type = infinirtMemcpyOperandTypeArray;
    FAILS(infinirtMemcpy3DBatchAsync(1, &op, &failed, 0, stream), infinirtErrorNotSupported);
  }
}

TEST(batches_cannot_be_captured_and_leave_the_capture_alone) {
  Memory m(kSmall);
  NewStream stream(infinirtStreamNonBlocking);
  void *dst = m.device, *src = m.pinned;
  size_t size = 64, first = 0, failed = 0;
  struct infinirtMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = infinirtMemcpySrcAccessOrderStream;
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  FAILS(infinirtMemcpyBatchAsync(&dst, &src, &size, 1, &attributes, &first, 1, &failed, stream),
        infinirtErrorStreamCaptureUnsupported);
  OK(infinirtStreamEndCapture(stream, &graph));
  OK(infinirtGraphDestroy(graph));
}

TEST(captured_copies_run_with_the_graph) {
  Memory m(kSmall);
  NewStream stream(infinirtStreamNonBlocking);
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t executable = nullptr;
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  OK(infinirtMemcpyAsync(m.device, m.host.data(), kSmall, infinirtMemcpyHostToDevice, stream));
  OK(infinirtMemcpyAsync(m.host2.data(), m.device, kSmall, infinirtMemcpyDeviceToHost, stream));
  if (unless_native("a real driver looks at the size when the graph is instantiated"))
    FAILS(infinirtMemsetAsync(m.device, 0, kSmall + 1, stream), infinirtErrorInvalidValue);
  OK(infinirtMemcpy(m.device2, m.host.data(), kSmall, infinirtMemcpyHostToDevice));  // elsewhere: allowed
  OK(infinirtStreamEndCapture(stream, &graph));
  OK(infinirtGraphInstantiate(&executable, graph, 0));
  std::memset(m.host.data(), 0x3c, kSmall);  // read when the graph runs
  OK(infinirtGraphLaunch(executable, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(int{m.host2[kSmall - 1]}, 0x3c);
  OK(infinirtGraphExecDestroy(executable));
  OK(infinirtGraphDestroy(graph));
}

TEST(synchronous_copies_beside_a_capturing_blocking_stream_break_it) {
  Memory m(kSmall);
  NewStream stream;
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  FAILS(infinirtMemcpy(m.device, m.host.data(), kSmall, infinirtMemcpyHostToDevice),
        infinirtErrorStreamCaptureImplicit);
  FAILS(infinirtStreamEndCapture(stream, &graph), infinirtErrorStreamCaptureInvalidated);
}

CHILD(two_devices) {
  char *a = nullptr, *b = nullptr;
  std::vector<char> host(kLarge, 1), back(kLarge);
  OK(infinirtMalloc(reinterpret_cast<void**>(&a), kLarge));
  OK(infinirtSetDevice(1));
  OK(infinirtMalloc(reinterpret_cast<void**>(&b), kLarge));
  NewStream on_second;
  OK(infinirtSetDevice(0));
  NewStream on_first;
  OK(infinirtMemcpy(a, host.data(), kLarge, infinirtMemcpyHostToDevice));
  OK(infinirtMemcpyPeer(b, 1, a, 0, kLarge));
  OK(infinirtMemcpy(back.data(), b, kLarge, infinirtMemcpyDeviceToHost));
  CHECK(back == host);
  FAILS(infinirtMemcpyPeer(b, 0, a, 0, kLarge), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpyPeer(b, 2, a, 0, kLarge), infinirtErrorInvalidDevice);
  FAILS(infinirtMemcpyPeer(b, 1, host.data(), 0, kLarge), infinirtErrorInvalidValue);
  FAILS(infinirtMemcpyPeerAsync(b, 1, a, 0, kLarge + 1, on_first), infinirtErrorInvalidValue);
  OK(infinirtMemcpyPeerAsync(b, 1, a, 0, 0, on_first));

  // After the earlier work of both devices, before their later work.
  {
    Gate gate;
    OK(gate.hold(on_second));
    OK(infinirtMemsetAsync(b, 7, kLarge, on_second));
    OK(infinirtMemcpyPeer(a, 0, b, 1, kLarge));
    OK(infinirtMemsetAsync(b, 9, kLarge, on_second));
    gate.open();
    OK(infinirtMemcpy(back.data(), a, kLarge, infinirtMemcpyDeviceToHost));
    CHECK_EQ(int{back[kLarge - 1]}, 7);
  }
  // Memory waits for another device's copies of it, once there were any.
  CHECK(waits_for_gate(on_second, [&] {
    OK(infinirtMemcpyAsync(b, a, kLarge, infinirtMemcpyDefault, on_second));
    return infinirtFree(a);
  }));
  OK(infinirtStreamSynchronize(on_second));
  OK(infinirtFree(b));
  OK(infinirtMalloc(reinterpret_cast<void**>(&a), 64));
  struct infinirtPointerAttributes attributes;
  OK(infinirtPointerGetAttributes(&attributes, a));
  CHECK_EQ(attributes.device, 0);
}

TEST(copies_between_devices) {
  skip_on_native(kTwoDevices);
  CHECK_EQ(child::run("two_devices", {"INFINIRT_CPU_DEVICES=2"}), 0);
}

CHILD_MAIN()
