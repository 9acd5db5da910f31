#include "infiniop/generated/written.h"
#include "op/cpu/written/ordering.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::random_sample;

// Items are rows.
Split split(const WrittenPlan& plan, const double*, int) { return {plan.rest, rows_worth(8192, plan.size[size::n])}; }

struct Wishes {
  double random, share, temperature;
  int64_t most;  // of the largest that may be drawn

  Wishes(const WrittenCall& call, int64_t count)
      : random(call.attributes[attribute::random_val]),
        share(call.attributes[attribute::topp]),
        temperature(call.attributes[attribute::temperature]),
        most(static_cast<int64_t>(call.attributes[attribute::topk])) {
    if (most <= 0 || most > count) most = count;
  }
  bool takes_largest() const { return random == 0 || share == 0 || temperature == 0 || most == 1; }
};

// What is not a number is never drawn: it comes last.
template <class T>
KeyOf<T> draw_key(T x) {
  const KeyOf<T> key = key_of(x);
  return key == kAllBits<T> ? key : static_cast<KeyOf<T>>((key ^ kAllBits<T>)-1);
}

template <size_t KeySize>
struct RankedFor {
  using type = Ranked32;
};
template <>
struct RankedFor<8> {
  using type = Ranked64;
};

// One row: its elements' weights, of which the largest is 1, and their keys, the largest element's the smallest.
template <class T>
struct Row {
  using C = Wide<T>;
  using Key = KeyOf<T>;
  using Ranked = typename RankedFor<sizeof(Key)>::type;
  static constexpr int kShift = sizeof(T) == 1 ? 0 : 8 * static_cast<int>(sizeof(T)) - 11;

  static constexpr int64_t kMore = 256;  // than elements, which putting some of them in order needs

  const T* from;
  int64_t step, count;
  C* weights;
  Key* keys;
  Ranked *ranked, *other;

  static size_t memory(int64_t count) {
    return static_cast<size_t>(count + kMore) * (sizeof(C) + sizeof(Key) + 2 * sizeof(Ranked)) + 256;
  }
  void use(char* memory) {
    ranked = reinterpret_cast<Ranked*>(memory);
    other = ranked + count + kMore;
    weights = reinterpret_cast<C*>(other + count + kMore);
    keys = reinterpret_cast<Key*>(weights + count + kMore);
  }

  // Calls visit(i, element) for all of them; where they lie side by side, that is a loop of vectors.
  template <class Visit>
  [[gnu::always_inline]] void for_each(Visit visit) const {
    if (step == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) visit(i, from[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) visit(i, from[i * step]);
    }
  }

  int64_t largest() {
    Key best = ~Key{0};
    for_each([&](int64_t i, T x) __attribute__((always_inline)) {
      const Key key = draw_key(x);
      keys[i] = key;
      best = key < best ? key : best;
    });
    // Runs are looked at as a whole.
    constexpr int64_t kRun = 64;
    int64_t at = 0;
    for (; at + kRun <= count; at += kRun) {
      bool is_here = false;
      for (int64_t i = 0; i < kRun; ++i) is_here |= keys[at + i] == best;
      if (is_here) break;
    }
    while (keys[at] != best) ++at;
    return at;
  }

  double weigh(C largest, double temperature) {
    const C factor = C(1) / C(temperature);
    for_each([&](int64_t i, T element) __attribute__((always_inline)) {
      const C x = widen(element);
      const C weight = exp((x - largest) * factor);
      weights[i] = x == largest ? C(1) : x < largest ? weight : C(0);
    });
    double total = 0;
    for (int64_t first = 0; first < count; first += 256) {
      double part[16] = {};
      const int64_t end = std::min<int64_t>(first + 256, count);
      int64_t i = first;
      for (; i + 16 <= end; i += 16) {
        for (int64_t j = 0; j < 16; ++j) part[j] += double(weights[i + j]);
      }
      for (; i < end; ++i) part[0] += double(weights[i]);
      for (const double each : part) total += each;
    }
    return total;
  }

  // Reads keys as KeyRow does.
  struct Keys {
    const Key* keys;

    static int bits() { return 8 * static_cast<int>(sizeof(T)); }
    void read(int64_t first, int64_t number, Key* to) const { std::copy_n(keys + first, number, to); }
  };

  // Of a few of the largest elements, which alone are put in order.
  int64_t draw_of_few(const Wishes& wishes, double total) {
    const Ranked* sorted = smallest_of(Keys{keys}, count, wishes.most, ranked, other);
    double limit = 0, sum = 0;
    for (int64_t i = 0; i < wishes.most; ++i) limit += double(weights[sorted[i].index()]);
    limit = wishes.random * std::min(limit, wishes.share * total);
    for (int64_t i = 0; i < wishes.most; ++i) {
      sum += double(weights[sorted[i].index()]);
      if (sum >= limit) return sorted[i].index();
    }
    return sorted[wishes.most - 1].index();
  }

  // The elements whose keys begin with these bits, in order; how many there are.
  int64_t sort_bin(Key bin, Ranked** sorted) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      ranked[kept] = Ranked::of(keys[i], static_cast<uint32_t>(i));
      kept += keys[i] >> kShift == bin;
    }
    *sorted = sort_ranked(ranked, other, kept, 8 * static_cast<int>(sizeof(T)));
    return kept;
  }

  int64_t draw(const Wishes& wishes) {
    const int64_t best = largest();
    if (wishes.takes_largest()) return best;
    const double total = weigh(widen(from[best * step]), wishes.temperature);
    if (wishes.most * 16 < count) return draw_of_few(wishes, total);
    double sums[2048] = {};
    uint32_t counts[2048] = {};
    for (int64_t i = 0; i < count; ++i) {
      sums[keys[i] >> kShift] += double(weights[i]);
      ++counts[keys[i] >> kShift];
    }
    Ranked* sorted = nullptr;
    double limit = total;
    if (wishes.most < count) {
      Key bin = 0;
      int64_t before = 0;
      double sum = 0;
      for (; before + counts[bin] < wishes.most; ++bin) {
        before += counts[bin];
        sum += sums[bin];
      }
      sort_bin(bin, &sorted);
      for (int64_t i = 0; i < wishes.most - before; ++i) sum += double(weights[sorted[i].index()]);
      limit = sum;
    }
    limit = wishes.random * std::min(limit, wishes.share * total);
    Key bin = 0;
    double sum = 0, next = 0;
    for (Key each = 0; each < 2048 && (each == 0 || next < limit); ++each) {
      if (counts[each] == 0) continue;
      bin = each;
      sum = next;
      next += sums[each];
    }
    const int64_t kept = sort_bin(bin, &sorted);
    for (int64_t i = 0; i < kept; ++i) {
      sum += double(weights[sorted[i].index()]);
      if (sum >= limit) return sorted[i].index();
    }
    return sorted[kept - 1].index();
  }
};

void write_result(void* address, int dtype, int64_t offset, int64_t index) {
  with_size(element_size(dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= 8) static_cast<T*>(address)[offset] = static_cast<T>(index);
  });
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &result = plan.tensor[tensor::result], &probs = plan.tensor[tensor::probs];
  const Wishes wishes(call, plan.size[size::n]);
  return with_float_type(probs.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Row<T> row{};
    row.step = probs.stride[probs.ndim - 1];
    row.count = plan.size[size::n];
    char* memory = worker_buffer(Row<T>::memory(row.count));
    if (!memory) return infinirtErrorMemoryAllocation;
    row.use(memory);
    for (int64_t item = first; item < last; ++item) {
      row.from = call.at<const T>(tensor::probs) + offset_of_rest(probs, item);
      write_result(call.address[tensor::result], result.dtype, offset_of_rest(result, item), row.draw(wishes));
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel random_sample = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
