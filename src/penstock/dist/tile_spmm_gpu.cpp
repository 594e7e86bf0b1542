// C(i, j) += A(i, k) B(k, j) on a device, A sparse, B and C dense.
#include <algorithm>
#include <utility>

#include "penstock/dist/tile_gpu.hpp"
#include "penstock/kernel/add_part.hpp"
#include "penstock/kernel/spmm_gpu.hpp"
#include "penstock/kernel/sweep.hpp"

namespace penstock {
namespace {

/// A piece: the first entry, counted row by row; from kHead on, entries. So they begin as the arena's blocks do.
constexpr std::int64_t kHead = 64;

template <Semiring S, class V>
class DenseSumGpu final : public TileSum {
  using T = typename S::value_type;

 public:
  DenseSumGpu(const TileAt& tile, std::byte* place, std::shared_ptr<OwnedStream> stream)
      : tile_(tile), stream_(std::move(stream)) {
    if (!place && tile.nnz > 0) {
      own_ = allocate<T>(tile.nnz, device_place(here().where));
      place = reinterpret_cast<std::byte*>(own_.data);
    }
    data_ = reinterpret_cast<T*>(place);
  }
  ~DenseSumGpu() override { drain(here()); }
  DenseSumGpu(const DenseSumGpu&) = delete;
  DenseSumGpu& operator=(const DenseSumGpu&) = delete;

  void multiply_add(const TileView& a, const TileView& b) override {
    const auto cols = tile_.cols;
    if (tile_.nnz == 0) return;
    const DenseView<const T> x{reinterpret_cast<const T*>(b.data), b.tile.rows, cols, cols, 1};
    const DenseView<T> y{data_, tile_.rows, cols, cols, 1};
    const auto scale = std::exchange(fresh_, false) ? Scale<S>{} : Scale<S>::accumulate();
    spmm_on<S, V>(csr_of<V>(a.data, a.tile), x, y, scale, here());
    synchronize(here());
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    begin();
    const auto step = (most - kHead) / static_cast<std::int64_t>(sizeof(T));
    std::int64_t first = 0;
    do {
      const auto count = std::min(step, tile_.nnz - first);
      const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
      const auto write = [&](std::byte* to) {
        copy_async(to, &first, sizeof first, here());
        copy_async(to + kHead, data_ + first, bytes, here());
        synchronize(here());
      };
      piece(kHead + bytes, write, first + count == tile_.nnz);
      first += count;
    } while (first < tile_.nnz);
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    begin();
    add_part<S>(data_, reinterpret_cast<const std::int64_t*>(piece),
                reinterpret_cast<const T*>(piece + kHead),
                (bytes - kHead) / static_cast<std::int64_t>(sizeof(T)), here());
    synchronize(here());
  }

  Offset finish() override {
    begin();
    return tile_.nnz;
  }
  void take(std::byte*) override {}

 private:
  Stream here() const { return *stream_; }
  /// The first product overwrites what is there; anything else finds zeros.
  void begin() {
    static_assert(S::zero() == T(0), "zeros are written as bytes");
    if (!std::exchange(fresh_, false)) return;
    fill_async(data_, 0, tile_.nnz * static_cast<std::int64_t>(sizeof(T)), here());
    synchronize(here());
  }

  TileAt tile_;
  std::shared_ptr<OwnedStream> stream_;
  bool fresh_ = true;
  Array<T> own_;
  T* data_ = nullptr;
};

template <Semiring S, class V>
class SpmmGpu final : public LocalProduct {
 public:
  explicit SpmmGpu(Where where) : stream_(std::make_shared<OwnedStream>(where)) {}
  TileValue result() const override { return tile_value<typename S::value_type>(); }
  std::unique_ptr<TileSum> start(const TileAt& tile, std::byte* place) const override {
    return std::make_unique<DenseSumGpu<S, V>>(tile, place, stream_);
  }

 private:
  std::shared_ptr<OwnedStream> stream_;
};

}  // namespace

std::unique_ptr<LocalProduct> local_spmm_gpu(std::string_view semiring, TileValue a, TileValue b,
                                             Where where) {
#define X(NAME, S, V)                                                                        \
  if (semiring == NAME && a == tile_value<V>() && b == tile_value<typename S::value_type>()) \
    return std::make_unique<SpmmGpu<S, V>>(where);
  X("plus_times", PlusTimes<float>, One)
  X("plus_times", PlusTimes<float>, float)
  X("plus_times", PlusTimes<double>, One)
  X("plus_times", PlusTimes<double>, double)
#undef X
  return nullptr;
}

}  // namespace penstock
