#pragma once
#include <memory>

#include "penstock/kernel/spmv/spmv_ell_g.hpp"
#include "penstock/schedule/block_source.hpp"

namespace penstock {

/// An ELL-G matrix as blocks that travel: each is one range of its bytes, brought by one copy.
template <class V>
class EllBlocks {
 public:
  explicit EllBlocks(EllG<V> a) : a_(std::make_shared<const EllG<V>>(std::move(a))) {}

  std::int64_t rows() const { return a_->rows; }
  std::int64_t cols() const { return a_->cols; }
  std::int64_t nnz() const { return a_->nnz; }
  std::int64_t count() const { return std::ssize(a_->blocks); }
  RowBlock block(std::int64_t i) const {
    const auto& b = at(i);
    return {b.first_row, b.rows, b.first_nnz, b.nnz, false};
  }
  std::int64_t bytes(std::int64_t i) const { return a_->layout(i).bytes; }
  CopyParts copies(std::int64_t i) const {
    CopyParts parts;
    parts[0] = {a_->bytes.data + at(i).offset, 0, bytes(i)};
    return parts;
  }
  template <Semiring S>
  void multiply(std::int64_t i, const std::byte* slot, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale, Stream stream) const {
    spmv_ell_g<S, V>(EllView<V>{at(i).rows, at(i).width, slot}, x, y, scale, stream);
  }

 private:
  const EllBlock& at(std::int64_t i) const { return a_->blocks[static_cast<std::size_t>(i)]; }
  std::shared_ptr<const EllG<V>> a_;
};
static_assert(BlockSource<EllBlocks<double>>);

}  // namespace penstock
