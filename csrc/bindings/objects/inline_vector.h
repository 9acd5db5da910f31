// A vector whose first elements need no allocation: the arguments of a launch are few, and a launch is short.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace infinirt::objects {

/// For plain values. Growing moves the elements, as with std::vector.
template <class T, size_t Inline>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() = default;
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  T* data() { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }

  void push_back(T value) { *extend(1) = value; }

  /// Adds `count` elements, whose values are not set yet, and returns the first of them.
  T* extend(size_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    T* added = data_ + size_;
    size_ += count;
    return added;
  }

 private:
  [[gnu::noinline]] void grow(size_t needed) {
    const size_t capacity = std::max(needed, capacity_ * 2);
    std::unique_ptr<T[]> larger(new T[capacity]);
    std::copy_n(data_, size_, larger.get());
    more_ = std::move(larger);
    data_ = more_.get();
    capacity_ = capacity;
  }

  T inline_[Inline];  // not set before it is used
  std::unique_ptr<T[]> more_;
  T* data_ = inline_;
  size_t size_ = 0, capacity_ = Inline;
};

}  // namespace infinirt::objects
