// What the tests of graphs share: short ways of making things, and a host function that writes down when it ran.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "support.h"

inline infinirtGraph_t make_graph() {
  infinirtGraph_t graph = nullptr;
  OK(infinirtGraphCreate(&graph, 0));
  return graph;
}

inline infinirtGraphExec_t instantiate(infinirtGraph_t graph, unsigned long long flags = 0) {
  infinirtGraphExec_t exec = nullptr;
  OK(infinirtGraphInstantiate(&exec, graph, flags));
  return exec;
}

inline void launch_and_wait(infinirtGraphExec_t exec, infinirtStream_t stream) {
  OK(infinirtGraphLaunch(exec, stream));
  OK(infinirtStreamSynchronize(stream));
}

// Host functions that note their numbers in the order in which they run.
class Diary {
 public:
  struct Page {
    Diary* diary;
    int number;
  };
  explicit Diary(int pages) {
    for (int i = 0; i < pages; ++i) pages_.push_back({this, i});
  }
  Page* page(int number) { return &pages_[static_cast<size_t>(number)]; }
  infinirtHostNodeParams node(int number) { return {write, page(number)}; }
  std::vector<int> take() {
    std::lock_guard<std::mutex> guard(mutex_);
    return std::move(entries_);
  }
  static void write(void* data) {
    auto* page = static_cast<Page*>(data);
    std::lock_guard<std::mutex> guard(page->diary->mutex_);
    page->diary->entries_.push_back(page->number);
  }

 private:
  std::mutex mutex_;
  std::vector<Page> pages_;
  std::vector<int> entries_;
};

inline infinirtGraphNode_t add_host(infinirtGraph_t graph, Diary& diary, int number,
                                    const std::vector<infinirtGraphNode_t>& after = {}) {
  const infinirtHostNodeParams params = diary.node(number);
  infinirtGraphNode_t node = nullptr;
  OK(infinirtGraphAddHostNode(&node, graph, after.data(), after.size(), &params));
  return node;
}

inline size_t place_of(const std::vector<int>& entries, int number) {
  return static_cast<size_t>(std::find(entries.begin(), entries.end(), number) - entries.begin());
}

template <class T = int>
T* device_array(size_t count) {
  void* pointer = nullptr;
  OK(infinirtMalloc(&pointer, count * sizeof(T)));
  return static_cast<T*>(pointer);
}

template <class T>
std::vector<T> read_back(const T* pointer, size_t count) {
  std::vector<T> values(count);
  OK(infinirtMemcpy(values.data(), pointer, count * sizeof(T), infinirtMemcpyDeviceToHost));
  return values;
}
