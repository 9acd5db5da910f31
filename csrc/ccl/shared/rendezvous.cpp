#include "ccl/shared/rendezvous.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "ccl/runtime.h"
#include "ccl/thread.h"

namespace infiniccl::shared {

namespace {

constexpr char kUnique[] = "infiniccl:u:";  // the id's process listens already
constexpr char kNamed[] = "infiniccl:n:";   // rank 0 will
constexpr uint32_t kMagic = 0x4c434347;
constexpr char kFarewell = 'f';

struct Hello {
  uint32_t magic;
  int32_t size, rank, process, stages;
};

// Before the memory is sent: "" is all right.
struct Answer {
  uint32_t magic;
  int32_t host_rank, staged;
  char problem[256];
};

std::string errno_text(const char* what) { return format_text("%s: %s", what, std::strerror(errno)); }

socklen_t address_of(const infinicclUniqueId_t& id, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  // The first byte is 0: a name that lives only as long as somebody uses it. Other users get other names.
  char text[sizeof address->sun_path];
  const int length = std::snprintf(text, sizeof text, "%.*s@%u", 92, id.internal, static_cast<unsigned>(getuid()));
  std::memcpy(address->sun_path + 1, text, static_cast<size_t>(length));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

bool is_own_user(int socket) {
  ucred who{};
  socklen_t length = sizeof who;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.uid == getuid();
}

bool send_all(int socket, const void* data, size_t bytes) {
  return send(socket, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool send_answer(int socket, const Answer& answer, int file) {
  iovec part{const_cast<Answer*>(&answer), sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof answer);
}

bool receive_answer(int socket, Answer* answer, int* file) {
  iovec part{answer, sizeof *answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof *file)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != static_cast<ssize_t>(sizeof *answer)) return false;
  *file = -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(file, CMSG_DATA(header), sizeof *file);
  return answer->magic == kMagic;
}

bool wait_readable(int socket, int64_t deadline) {
  for (;;) {
    const int64_t left = deadline - now_ns();
    if (left <= 0) return false;
    pollfd watched{socket, POLLIN, 0};
    const int ready = poll(&watched, 1, static_cast<int>(std::min<int64_t>(left / 1'000'000 + 1, 1000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// ---- the process that made the id: hands the memory out, and watches over who is alive

struct Host {
  int listener = -1;
  int memory = -1;
  Map map;
  std::vector<int> sockets;  // by rank; -1: not there, or gone
  int joined = 0;
  int own_rank = -1;  // one of the ranks, if it is in this process
  bool staged = false;  // some rank stages

  ~Host() {
    if (listener >= 0) close(listener);
    if (memory >= 0) close(memory);
    for (int socket : sockets) {
      if (socket >= 0) close(socket);
    }
    if (map.base) munmap(map.base, map.bytes());
  }

  bool make_memory(int size, std::string* problem) {
    map.size = size;
    memory = memfd_create("infiniccl", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, static_cast<off_t>(map.bytes())) != 0) {
      *problem = errno_text("no shared memory");
      return false;
    }
    void* base = mmap(nullptr, map.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    if (base == MAP_FAILED) {
      *problem = errno_text("no shared memory");
      return false;
    }
    map.base = static_cast<std::byte*>(base);
    if (initialise(map)) return true;
    *problem = "no mutex between processes";
    return false;
  }

  // What is wrong with the newcomer; "" if nothing is.
  std::string check(const Hello& hello) {
    std::string problem;
    if (sockets.empty()) {
      sockets.assign(static_cast<size_t>(hello.size), -1);
      make_memory(hello.size, &problem);
    } else if (static_cast<size_t>(hello.size) != sockets.size()) {
      problem = format_text("rank %d says that there are %d ranks, an earlier one said %zu", hello.rank, hello.size,
                            sockets.size());
    } else if (sockets[static_cast<size_t>(hello.rank)] >= 0) {
      problem = format_text("rank %d has joined already", hello.rank);
    }
    return problem;
  }

  void welcome(int socket) {
    Hello hello{};
    const timeval patience{5, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!is_own_user(socket) || recv(socket, &hello, sizeof hello, MSG_WAITALL) != static_cast<ssize_t>(sizeof hello) ||
        hello.magic != kMagic || hello.size < 1 || hello.rank < 0 || hello.rank >= hello.size) {
      close(socket);
      return;
    }
    const std::string problem = check(hello);
    if (!problem.empty()) {
      Answer answer{};
      answer.magic = kMagic;
      std::snprintf(answer.problem, sizeof answer.problem, "%s", problem.c_str());
      send_answer(socket, answer, -1);
      close(socket);
      return;
    }
    sockets[static_cast<size_t>(hello.rank)] = socket;
    if (hello.process == getpid()) own_rank = hello.rank;
    staged |= hello.stages != 0;
    if (++joined < hello.size) return;
    // All are there. The name is free again.
    close(listener);
    listener = -1;
    Answer answer{};
    answer.magic = kMagic;
    answer.host_rank = own_rank;
    answer.staged = staged;
    for (int each : sockets) {
      if (each >= 0) send_answer(each, answer, memory);
    }
  }

  void lost(size_t rank, bool farewell) {
    close(sockets[rank]);
    sockets[rank] = -1;
    if (listener >= 0) {  // it gave up waiting, or died: somebody may take its place
      --joined;
      return;
    }
    if (farewell || !map.base) return;
    map.rank(static_cast<int>(rank)).dead.store(1, std::memory_order_release);
    for (int other = 0; other < map.size; ++other) ring(map.rank(other));
  }

  bool serve() {
    std::vector<pollfd> watched;
    if (listener >= 0) watched.push_back({listener, POLLIN, 0});
    const size_t first = watched.size();
    std::vector<size_t> ranks;
    for (size_t r = 0; r < sockets.size(); ++r) {
      if (sockets[r] < 0) continue;
      watched.push_back({sockets[r], POLLIN, 0});
      ranks.push_back(r);
    }
    if (watched.empty()) return false;
    if (poll(watched.data(), watched.size(), -1) < 0) return errno == EINTR;
    for (size_t i = first; i < watched.size(); ++i) {
      if (!watched[i].revents) continue;
      char said = 0;
      const ssize_t got = recv(watched[i].fd, &said, 1, MSG_DONTWAIT);
      if (got > 0 || got == 0 || (errno != EAGAIN && errno != EINTR))
        lost(ranks[i - first], got == 1 && said == kFarewell);
    }
    if (first == 1 && listener >= 0 && watched[0].revents) {
      const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) welcome(socket);
    }
    return true;
  }
};

bool start_host(const infinicclUniqueId_t& id, std::string* problem) {
  auto host = std::make_shared<Host>();
  host->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t length = address_of(id, &address);
  if (host->listener < 0 || bind(host->listener, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(host->listener, 1024) != 0) {
    *problem = errno == EADDRINUSE ? "another communicator of this name is being made on this machine"
                                   : errno_text("no socket to wait for the other ranks");
    return false;
  }
  const bool started = start_thread("infiniccl-host", [host] {
    while (host->serve()) {
    }
  });
  if (!started) *problem = "no thread to wait for the other ranks";
  return started;
}

int connect_to(const infinicclUniqueId_t& id, int64_t deadline) {
  sockaddr_un address;
  const socklen_t length = address_of(id, &address);
  for (;;) {
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) return -1;
    if (connect(made, reinterpret_cast<sockaddr*>(&address), length) == 0 && is_own_user(made)) return made;
    close(made);
    if (now_ns() >= deadline) return -1;
    usleep(2000);
  }
}

}  // namespace

bool make_unique_id(infinicclUniqueId_t* id, std::string* problem) {
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    *problem = errno_text("no random numbers");
    return false;
  }
  *id = {};
  std::memcpy(id->internal, kUnique, sizeof kUnique - 1);
  for (size_t i = 0; i < sizeof random; ++i)
    std::snprintf(id->internal + sizeof kUnique - 1 + 2 * i, 3, "%02x", random[i]);
  return start_host(*id, problem);
}

bool make_named_id(infinicclUniqueId_t* id, const char* name, std::string* problem) {
  constexpr size_t kLongest = 76;
  if (std::strlen(name) == 0 || std::strlen(name) > kLongest) {
    *problem = format_text("the name has %zu characters; 1 to %zu are possible", std::strlen(name), kLongest);
    return false;
  }
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "%s%s", kNamed, name);
  return true;
}

bool join(const infinicclUniqueId_t& id, int size, int rank, bool stages, int64_t timeout_ns, Joined* joined,
          std::string* problem) {
  const bool named = std::strncmp(id.internal, kNamed, sizeof kNamed - 1) == 0;
  if (!named && std::strncmp(id.internal, kUnique, sizeof kUnique - 1) != 0) {
    *problem = "comm_id was not made by infinicclGetUniqueId or infinicclGetNamedId";
    return false;
  }
  const int64_t deadline = timeout_ns > 0 ? now_ns() + timeout_ns : INT64_MAX;
  if (named && rank == 0 && !start_host(id, problem)) return false;
  const int socket = connect_to(id, deadline);
  if (socket < 0) {
    *problem = named ? format_text("rank 0 did not begin within %.1f s", static_cast<double>(timeout_ns) * 1e-9)
                     : std::string("the process that made the id is not there any more, or on another machine");
    return false;
  }
  const Hello hello{kMagic, size, rank, static_cast<int32_t>(getpid()), stages};
  Answer answer{};
  int file = -1;
  if (!send_all(socket, &hello, sizeof hello) || !wait_readable(socket, deadline)) {
    *problem = format_text("not all %d ranks joined within %.1f s", size, static_cast<double>(timeout_ns) * 1e-9);
    close(socket);
    return false;
  }
  if (!receive_answer(socket, &answer, &file)) {
    *problem = "the process that made the id ended before all ranks had joined";
    close(socket);
    return false;
  }
  if (answer.problem[0] || file < 0) {
    *problem = answer.problem;
    close(socket);
    return false;
  }
  joined->map.size = size;
  void* base = mmap(nullptr, joined->map.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (base == MAP_FAILED) {
    *problem = errno_text("the shared memory could not be mapped");
    close(socket);
    return false;
  }
  joined->map.base = static_cast<std::byte*>(base);
  joined->socket = socket;
  joined->host_rank = answer.host_rank;
  joined->staged = answer.staged != 0;
  return true;
}

bool host_is_gone(int socket) {
  char byte;
  const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

void say_farewell(int socket) { send_all(socket, &kFarewell, 1); }

}  // namespace infiniccl::shared
