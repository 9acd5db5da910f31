// Convolution as a product of matrices: the weights (rows are channels of the result, columns elements of a window) times the windows
// (columns are places of the result), which are gathered block by block and never are in memory as a whole. Where a group has few
// channels a product gains nothing, and rows of the result are summed up directly.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/registers.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::conv;

// The product's kernel holds kPanelRows x 2 vectors of sums in registers.
constexpr int kPanelRows = kVectorRegisters == 32 ? 12 : 6;
template <class C>
constexpr int64_t kPanelColumns = 2 * VectorOf<C>::kLanes;
constexpr int64_t kDepth = 256;  // of a window's elements, at a time
constexpr int64_t kPlaces = 256;  // of the result, at a time
constexpr int64_t kMostRows = 40 * kPanelRows;
constexpr int64_t kFewestWork = 1 << 20;  // multiplications that are worth a block
constexpr int64_t kRowPiece = 1024;  // of a row that is summed up directly

int64_t round_up(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }

struct Shape {
  SpatialView x, y;
  int64_t groups, inputs, outputs;  // channels of a group
  int64_t kernel[3], weight_stride[3], weight_output, weight_input;
  int64_t pad[3], stride[3], dilation[3];
  int64_t window, places;  // elements of a window of all channels; places of the result
  bool is_flat;  // a window is one element, and those of all places are at the same distance

  Shape(const WrittenPlan& plan, const double* attributes)
      : x(spatial_of(plan.tensor[tensor::x])), y(spatial_of(plan.tensor[tensor::y])) {
    const SpatialView w = spatial_of(plan.tensor[tensor::w]);
    inputs = w.channels;
    groups = x.channels / inputs;
    outputs = w.batch / groups;
    weight_output = w.batch_stride;
    weight_input = w.channel_stride;
    window = inputs;
    places = 1;
    for (int d = 0; d < 3; ++d) {
      kernel[d] = w.size[d];
      weight_stride[d] = w.stride[d];
      pad[d] = static_cast<int64_t>(attributes[attribute::pads_d + d]);
      stride[d] = static_cast<int64_t>(attributes[attribute::strides_d + d]);
      dilation[d] = static_cast<int64_t>(attributes[attribute::dilations_d + d]);
      window *= kernel[d];
      places *= y.size[d];
    }
    is_flat = window == inputs && x.stride[1] == x.stride[2] * x.size[2] &&
              (x.size[0] == 1 || x.stride[0] == x.stride[1] * x.size[1]);
    for (int d = 0; d < 3; ++d) is_flat = is_flat && stride[d] == 1 && pad[d] == 0;
  }

  bool is_direct() const { return outputs < 4; }
  int64_t panels() const { return (outputs + kPanelRows - 1) / kPanelRows; }
  int64_t blocks_of_places() const { return (places + kPlaces - 1) / kPlaces; }
  // Channels of the result that a block computes: fewer where there would be few blocks otherwise.
  int64_t rows() const {
    int64_t rows = std::min(kMostRows, panels() * kPanelRows);
    const int64_t others = x.batch * groups * blocks_of_places();
    while (rows >= 12 * kPanelRows && others * ((outputs + rows - 1) / rows) < 16) {
      rows = round_up(rows / 2, kPanelRows);
    }
    return rows;
  }
  int64_t blocks_of_rows() const { return (outputs + rows() - 1) / rows(); }
};

size_t workspace(const WrittenPlan& plan, const double* attributes) {
  if (plan.size[size::b] == 0) return 0;
  const Shape shape(plan, attributes);
  if (shape.is_direct()) return 0;
  const size_t bytes = plan.tensor[tensor::w].dtype == INFINI_DTYPE_F64 ? 8 : 4;
  return static_cast<size_t>(shape.groups * shape.panels() * kPanelRows * shape.window) * bytes;
}

// First the weights are brought into the order that the product reads them in, then blocks of the result are computed.
Split split(const WrittenPlan& plan, const double* attributes, int phase) {
  if (plan.size[size::b] == 0 || plan.size[size::o] == 0) return {0, 1};
  const Shape shape(plan, attributes);
  if (shape.is_direct()) {
    const int64_t rows = shape.y.batch * shape.y.channels * shape.y.size[0] * shape.y.size[1];
    const int64_t work = std::max<int64_t>(1, shape.window * shape.y.size[2]);
    return {phase == 0 ? 0 : rows, std::max<int64_t>(1, 65536 / work)};
  }
  if (phase == 0) return {shape.groups * shape.panels(), std::max<int64_t>(1, 4096 / shape.window)};
  const int64_t items = shape.x.batch * shape.groups * shape.blocks_of_rows() * shape.blocks_of_places();
  const int64_t work = shape.rows() * shape.window * std::min(kPlaces, shape.places);
  return {items, std::max<int64_t>(1, kFewestWork / std::max<int64_t>(1, work))};
}

template <class T>
class Convolution {
 public:
  using C = Wide<T>;
  static constexpr int64_t kColumns = kPanelColumns<C>;

  Convolution(const WrittenCall& call, const Shape& shape)
      : s_(shape),
        x_(call.at<const T>(tensor::x)),
        w_(call.at<const T>(tensor::w)),
        bias_(call.at<const T>(tensor::bias)),
        bias_stride_(call.plan.tensor[tensor::bias].stride[0]),
        y_(call.at<T>(tensor::y)),
        packed_(static_cast<C*>(call.workspace)) {}

  // A panel has the weights of kPanelRows channels, side by side for each element of the window; behind the last channel zeros.
  void pack_weights(int64_t panel) const {
    const int64_t group = panel / s_.panels(), first = panel % s_.panels() * kPanelRows;
    C* to = packed_ + panel * kPanelRows * s_.window;
    const int64_t rows = std::min<int64_t>(kPanelRows, s_.outputs - first);
    const T* from = w_ + (group * s_.outputs + first) * s_.weight_output;
    for (int64_t i = 0; i < s_.inputs; ++i) {
      for (int64_t d = 0; d < s_.kernel[0]; ++d) {
        for (int64_t h = 0; h < s_.kernel[1]; ++h) {
          const T* row = from + i * s_.weight_input + d * s_.weight_stride[0] + h * s_.weight_stride[1];
          for (int64_t w = 0; w < s_.kernel[2]; ++w, row += s_.weight_stride[2], to += kPanelRows) {
            if (rows == kPanelRows) {
#pragma GCC unroll 16
              for (int r = 0; r < kPanelRows; ++r) to[r] = C(widen(row[r * s_.weight_output]));
            } else {
              for (int r = 0; r < kPanelRows; ++r) to[r] = r < rows ? C(widen(row[r * s_.weight_output])) : C(0);
            }
          }
        }
      }
    }
  }

  bool run_block(int64_t item) {
    const int64_t rows = s_.rows(), blocks = s_.blocks_of_places();
    const int64_t block = item % blocks, part = item / blocks % s_.blocks_of_rows();
    const int64_t image = item / blocks / s_.blocks_of_rows(), group = image % s_.groups, batch = image / s_.groups;
    const int64_t places = std::min(kPlaces, s_.places - block * kPlaces), columns = round_up(places, kColumns);
    const int64_t first = part * rows, count = std::min(rows, s_.outputs - first);
    const int64_t padded = round_up(count, kPanelRows);
    auto* memory =
        reinterpret_cast<C*>(worker_buffer(sizeof(C) * static_cast<size_t>(kDepth * columns + padded * columns)));
    if (!memory) return false;
    C *gathered = memory, *sum = memory + kDepth * columns;
    const T* x = x_ + batch * s_.x.batch_stride + group * s_.inputs * s_.x.channel_stride;
    const C* weights = packed_ + (group * s_.panels() * kPanelRows + first) * s_.window;
    for (int64_t k = 0; k < s_.window; k += kDepth) {
      const int64_t depth = std::min(kDepth, s_.window - k);
      gather(x, k, depth, block * kPlaces, places, gathered);
      for (int64_t j = 0; j < columns; j += kColumns) {
        for (int64_t i = 0; i < padded; i += kPanelRows) {
          multiply(depth, weights + i * s_.window + k * kPanelRows, gathered + j * depth, sum + i * columns + j,
                   columns, k == 0);
        }
      }
    }
    const int64_t channel = group * s_.outputs + first;
    T* y = y_ + batch * s_.y.batch_stride + channel * s_.y.channel_stride;
    for (int64_t r = 0; r < count; ++r) {
      const C bias = bias_ ? C(widen(bias_[(channel + r) * bias_stride_])) : C(0);
      put(sum + r * columns, bias, y + r * s_.y.channel_stride, block * kPlaces, places);
    }
    return true;
  }

  // Rows of the result, without a product of matrices.
  void run_row(int64_t item) const {
    const int64_t h = item % s_.y.size[1], d = item / s_.y.size[1] % s_.y.size[0];
    const int64_t channel = item / (s_.y.size[0] * s_.y.size[1]) % s_.y.channels;
    const int64_t batch = item / (s_.y.size[0] * s_.y.size[1] * s_.y.channels);
    const int64_t group = channel / s_.outputs;
    const T* x = x_ + batch * s_.x.batch_stride + group * s_.inputs * s_.x.channel_stride;
    const T* w = w_ + channel * s_.weight_output;
    T* y = y_ + batch * s_.y.batch_stride + channel * s_.y.channel_stride + d * s_.y.stride[0] + h * s_.y.stride[1];
    const C bias = bias_ ? C(widen(bias_[channel * bias_stride_])) : C(0);
    C sum[kRowPiece];
    for (int64_t first = 0; first < s_.y.size[2]; first += kRowPiece) {
      const int64_t count = std::min<int64_t>(kRowPiece, s_.y.size[2] - first);
      for (int64_t i = 0; i < count; ++i) sum[i] = bias;
      for (int64_t i = 0; i < s_.inputs; ++i) {
        for (int64_t kd = 0; kd < s_.kernel[0]; ++kd) {
          const int64_t at_d = d * s_.stride[0] - s_.pad[0] + kd * s_.dilation[0];
          if (at_d < 0 || at_d >= s_.x.size[0]) continue;
          for (int64_t kh = 0; kh < s_.kernel[1]; ++kh) {
            const int64_t at_h = h * s_.stride[1] - s_.pad[1] + kh * s_.dilation[1];
            if (at_h < 0 || at_h >= s_.x.size[1]) continue;
            add_row(x + i * s_.x.channel_stride + at_d * s_.x.stride[0] + at_h * s_.x.stride[1],
                    w + i * s_.weight_input + kd * s_.weight_stride[0] + kh * s_.weight_stride[1], first, count, sum);
          }
        }
      }
      if (s_.y.stride[2] == 1) {
        for (int64_t i = 0; i < count; ++i) y[first + i] = narrow<T>(sum[i]);
      } else {
        for (int64_t i = 0; i < count; ++i) y[(first + i) * s_.y.stride[2]] = narrow<T>(sum[i]);
      }
    }
  }

 private:
  // Which places of a row have an element under column `k` of the window.
  struct Reach {
    int64_t first, last;
  };
  Reach reach_of(int64_t k) const {
    const int64_t shift = k * s_.dilation[2] - s_.pad[2];  // from a place times the stride to the element
    const int64_t over = s_.x.size[2] - shift;
    return {shift >= 0 ? 0 : (-shift + s_.stride[2] - 1) / s_.stride[2],
            over <= 0 ? 0 : (over + s_.stride[2] - 1) / s_.stride[2]};
  }
  // The same among `count` places from `first` on.
  static void cut(const Reach& reach, int64_t first, int64_t count, int64_t* begin, int64_t* end) {
    *begin = std::clamp<int64_t>(reach.first - first, 0, count);
    *end = std::clamp<int64_t>(reach.last - first, *begin, count);
  }

  void add_row(const T* row, const T* w, int64_t first, int64_t count, C* sum) const {
    for (int64_t k = 0; k < s_.kernel[2]; ++k) {
      int64_t begin = 0, end = 0;
      cut(reach_of(k), first, count, &begin, &end);
      const C weight = C(widen(w[k * s_.weight_stride[2]]));
      const int64_t step = s_.stride[2] * s_.x.stride[2];
      const T* from = row + (first * s_.stride[2] + k * s_.dilation[2] - s_.pad[2]) * s_.x.stride[2];
      if (step == 1) {
        for (int64_t i = begin; i < end; ++i) sum[i] += weight * C(widen(from[i]));
      } else {
        for (int64_t i = begin; i < end; ++i) sum[i] += weight * C(widen(from[i * step]));
      }
    }
  }

  struct Place {
    int64_t d, h, w;
  };
  Place place_of(int64_t number) const {
    const int64_t row = number / s_.y.size[2];
    return {row / s_.y.size[1], row % s_.y.size[1], number % s_.y.size[2]};
  }
  void go_to_next_row(Place* place) const {
    place->w = 0;
    if (++place->h < s_.y.size[1]) return;
    place->h = 0;
    ++place->d;
  }

  // Elements `k` and following of the windows of `places` places, in panels of kColumns places; behind the last place zeros.
  void gather(const T* x, int64_t k, int64_t depth, int64_t first, int64_t places, C* to) const {
    const int64_t columns = round_up(places, kColumns);
    const Place begin = place_of(first);
    C line[kPlaces + kColumns];
    for (int64_t i = places; i < columns; ++i) line[i] = 0;
    int64_t kw = k % s_.kernel[2], rest = k / s_.kernel[2];
    int64_t kh = rest % s_.kernel[1];
    rest /= s_.kernel[1];
    int64_t kd = rest % s_.kernel[0], input = rest / s_.kernel[0];
    for (int64_t r = 0; r < depth; ++r) {
      const T* from = x + input * s_.x.channel_stride;
      if (s_.is_flat) {
        read(line, from + first * s_.x.stride[2], s_.x.stride[2], places);
      } else {
        gather_line(from, kd, kh, kw, begin, places, line);
      }
      for (int64_t j = 0; j < columns; j += kColumns) {
        std::memcpy(to + j * depth + r * kColumns, line + j, sizeof(C) * kColumns);
      }
      if (++kw < s_.kernel[2]) continue;
      kw = 0;
      if (++kh < s_.kernel[1]) continue;
      kh = 0;
      if (++kd < s_.kernel[0]) continue;
      kd = 0;
      ++input;
    }
  }

  static void read(C* to, const T* from, int64_t step, int64_t count) {
    if (step == 1) {
      for (int64_t i = 0; i < count; ++i) to[i] = C(widen(from[i]));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = C(widen(from[i * step]));
    }
  }

  void gather_line(const T* x, int64_t kd, int64_t kh, int64_t kw, Place place, int64_t places, C* line) const {
    const int64_t step = s_.stride[2] * s_.x.stride[2];
    const Reach reach = reach_of(kw);
    for (int64_t at = 0; at < places; go_to_next_row(&place)) {
      const int64_t count = std::min<int64_t>(places - at, s_.y.size[2] - place.w);
      const int64_t d = place.d * s_.stride[0] - s_.pad[0] + kd * s_.dilation[0];
      const int64_t h = place.h * s_.stride[1] - s_.pad[1] + kh * s_.dilation[1];
      C* to = line + at;
      int64_t begin = 0, end = 0;
      if (d >= 0 && d < s_.x.size[0] && h >= 0 && h < s_.x.size[1]) cut(reach, place.w, count, &begin, &end);
      const int64_t column = (place.w + begin) * s_.stride[2] + kw * s_.dilation[2] - s_.pad[2];
      for (int64_t i = 0; i < begin; ++i) to[i] = 0;
      if (begin < end) {
        read(to + begin, x + d * s_.x.stride[0] + h * s_.x.stride[1] + column * s_.x.stride[2], step, end - begin);
      }
      for (int64_t i = end; i < count; ++i) to[i] = 0;
      at += count;
    }
  }

  // sum[kPanelRows, kColumns] += the product of two panels.
  static void multiply(int64_t depth, const C* a, const C* b, C* sum, int64_t leading, bool is_first) {
    constexpr int kLanes = VectorOf<C>::kLanes;
    Vector<C> total[kPanelRows][2];
#pragma GCC unroll 16
    for (int r = 0; r < kPanelRows; ++r) {
      total[r][0] = is_first ? Vector<C>{} : load_vector(sum + r * leading);
      total[r][1] = is_first ? Vector<C>{} : load_vector(sum + r * leading + kLanes);
    }
    for (int64_t k = 0; k < depth; ++k, a += kPanelRows, b += 2 * kLanes) {
      const Vector<C> low = load_vector(b), high = load_vector(b + kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kPanelRows; ++r) {
        const Vector<C> weight = a[r] - Vector<C>{};  // the same in all lanes
        total[r][0] = fused(weight, low, total[r][0]);
        total[r][1] = fused(weight, high, total[r][1]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kPanelRows; ++r) {
      std::memcpy(sum + r * leading, &total[r][0], sizeof total[r][0]);
      std::memcpy(sum + r * leading + kLanes, &total[r][1], sizeof total[r][1]);
    }
  }

  void put(const C* sum, C bias, T* y, int64_t first, int64_t places) const {
    Place place = place_of(first);
    for (int64_t at = 0; at < places; go_to_next_row(&place)) {
      const int64_t count = std::min<int64_t>(places - at, s_.y.size[2] - place.w);
      T* to = y + place.d * s_.y.stride[0] + place.h * s_.y.stride[1] + place.w * s_.y.stride[2];
      if (s_.y.stride[2] == 1) {
        for (int64_t i = 0; i < count; ++i) to[i] = narrow<T>(sum[at + i] + bias);
      } else {
        for (int64_t i = 0; i < count; ++i) to[i * s_.y.stride[2]] = narrow<T>(sum[at + i] + bias);
      }
      at += count;
    }
  }

  const Shape& s_;
  const T *x_, *w_, *bias_;
  int64_t bias_stride_;
  T* y_;
  C* packed_;
};

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const Shape shape(call.plan, call.attributes);
  return with_float_type(call.plan.tensor[tensor::x].dtype, [&](auto tag) {
    Convolution<typename decltype(tag)::type> convolution(call, shape);
    for (int64_t item = first; item < last; ++item) {
      if (call.phase == 0) {
        convolution.pack_weights(item);
      } else if (shape.is_direct()) {
        convolution.run_row(item);
      } else if (!convolution.run_block(item)) {
        return infinirtErrorMemoryAllocation;
      }
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel conv = {split, run, 2, workspace};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
