// C(i, j) += A(i, k) B(k, j) on a device, A sparse, B and C dense; the device's form of tile_spmm.cpp.
#include <algorithm>
#include <utility>

#include "penstock/core/reuse.hpp"
#include "penstock/dist/tile/tile_gpu.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/kernel/spmv/add_part.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// Bytes at the beginning of a piece, of which the first 8 are the number of its first entry, counted row by row. Entries
/// follow, aligned as the blocks of an arena are.
constexpr std::int64_t kDenseHeadGpu = 64;

/// What the sums of one product share. Memory of sums that are gone serves the next ones: freeing it would wait for all
/// that the device does, copies of tiles included.
struct DenseWorkshop {
  explicit DenseWorkshop(Where where) : stream(where) {}
  Array<std::byte> take(std::int64_t bytes) {
    if (free.size >= bytes) return std::exchange(free, {});
    const auto place = device_place(Stream(stream).where);
    auto memory = reuse_bytes(bytes, place);
    return {static_cast<std::byte*>(memory.get()), bytes, place, memory};
  }
  void give(Array<std::byte> memory) {
    if (memory.size > free.size) free = std::move(memory);
  }
  OwnedStream stream;
  Array<std::byte> free;  // the largest that was given back
};

template <Semiring S, class V>
class DenseSumGpu final : public TileSum {
  using T = typename S::value_type;

 public:
  DenseSumGpu(const TileAt& tile, std::byte* place, std::shared_ptr<DenseWorkshop> shop)
      : tile_(tile), shop_(std::move(shop)) {
    if (!place && tile.nnz > 0) {
      own_ = shop_->take(tile.nnz * static_cast<std::int64_t>(sizeof(T)));
      place = own_.data;
    }
    data_ = reinterpret_cast<T*>(place);
  }
  ~DenseSumGpu() override {
    drain(here());
    if (own_.data) shop_->give(std::move(own_));
  }
  DenseSumGpu(const DenseSumGpu&) = delete;
  DenseSumGpu& operator=(const DenseSumGpu&) = delete;

  void multiply_add(const TileView& a, const TileView& b) override {
    const auto cols = tile_.cols;
    if (tile_.nnz == 0) return;
    const DenseView<const T> x{reinterpret_cast<const T*>(b.data), b.tile.rows, cols, cols, 1};
    const auto rows = fresh_ ? Span{0, tile_.rows} : a.tile.row_span();  // the first one writes all
    const DenseView<T> y{data_ + rows.first * cols, rows.size(), cols, cols, 1};
    const auto scale = std::exchange(fresh_, false) ? Scale<S>{} : Scale<S>::accumulate();
    spmm_on<S, V>(rows_of<V>(a, rows), x, y, scale, here());
    rows_ = rows_.with(a.tile.row_span());
    synchronize(here());
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    begin();
    const auto step = (most - kDenseHeadGpu) / static_cast<std::int64_t>(sizeof(T));
    auto first = rows_.first * tile_.cols;
    const auto end = rows_.end * tile_.cols;
    do {
      const auto count = std::min(step, end - first);
      const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
      const auto write = [&](std::byte* to) {
        const std::int64_t head[kDenseHeadGpu / 8] = {first};  // all of it is sent
        copy_async(to, head, sizeof head, here());
        copy_async(to + kDenseHeadGpu, data_ + first, bytes, here());
        synchronize(here());
      };
      piece(kDenseHeadGpu + bytes, write, first + count == end);
      first += count;
    } while (first < end);
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    begin();
    add_part<S>(data_, reinterpret_cast<const std::int64_t*>(piece),
                reinterpret_cast<const T*>(piece + kDenseHeadGpu),
                (bytes - kDenseHeadGpu) / static_cast<std::int64_t>(sizeof(T)), here());
    synchronize(here());
  }

  Offset finish() override {
    begin();
    return tile_.nnz;
  }
  void take(std::byte*) override {}

 private:
  Stream here() const { return shop_->stream; }
  /// The first product overwrites what is there; anything else finds zeros.
  void begin() {
    static_assert(S::zero() == T(0), "zeros are written as bytes");
    if (!std::exchange(fresh_, false)) return;
    fill_async(data_, 0, tile_.nnz * static_cast<std::int64_t>(sizeof(T)), here());
    synchronize(here());
  }

  TileAt tile_;
  std::shared_ptr<DenseWorkshop> shop_;
  Span rows_{0, 0};  // the rows that have products
  bool fresh_ = true;
  Array<std::byte> own_;
  T* data_ = nullptr;
};

template <Semiring S, class V>
class SpmmGpu final : public LocalProduct {
 public:
  explicit SpmmGpu(Where where) : shop_(std::make_shared<DenseWorkshop>(where)) {}
  TileValue result() const override { return tile_value<typename S::value_type>(); }
  std::unique_ptr<TileSum> start(const TileAt& tile, std::byte* place) const override {
    return std::make_unique<DenseSumGpu<S, V>>(tile, place, shop_);
  }

 private:
  std::shared_ptr<DenseWorkshop> shop_;
};

}  // namespace

std::unique_ptr<LocalProduct> local_spmm_gpu(std::string_view semiring, TileValue a, TileValue b,
                                             Where where) {
#define X(S, V)                                                                                            \
  if (semiring == semiring_name<S>() && a == tile_value<V>() && b == tile_value<typename S::value_type>()) \
    return std::make_unique<SpmmGpu<S, V>>(where);
  X(PlusTimes<float>, One)
  X(PlusTimes<float>, float)
  X(PlusTimes<double>, One)
  X(PlusTimes<double>, double)
#undef X
  return nullptr;
}

}  // namespace penstock
