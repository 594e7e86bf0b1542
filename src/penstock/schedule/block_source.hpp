#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// One of the copies that bring a block into a slot: `bytes` bytes from host memory to offset `to` of the slot.
struct CopyPart {
  const void* from = nullptr;
  std::int64_t to = 0, bytes = 0;
};
using CopyParts = std::array<CopyPart, 8>;  // unused ones have no bytes

/// A matrix in row blocks, each of which travels by itself: CSR as it is, packed, or ELL-G. A source knows how large each
/// block is in a slot, which copies bring it there, and how to multiply it from there on the CPU or a GPU.
/// `multiply<S>(i, slot, x, y, scale, stream)` writes the rows of block i, the first of them to y[0]. A block that is a
/// piece of a split row writes one number: its sum.
template <class B>
concept BlockSource = requires(const B b, std::int64_t i) {
  { b.rows() } -> std::convertible_to<std::int64_t>;
  { b.cols() } -> std::convertible_to<std::int64_t>;
  { b.nnz() } -> std::convertible_to<std::int64_t>;
  { b.count() } -> std::convertible_to<std::int64_t>;
  { b.block(i) } -> std::convertible_to<RowBlock>;
  { b.bytes(i) } -> std::convertible_to<std::int64_t>;
  { b.copies(i) } -> std::same_as<CopyParts>;
};

/// A source without its types: what a plan needs to place and move blocks.
struct BlockList {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::vector<RowBlock> blocks;
  std::vector<std::int64_t> bytes;  // of each block in a slot
  std::function<CopyParts(std::int64_t)> copies;
  std::string kernel;
  std::int64_t total_bytes() const {
    std::int64_t sum = 0;
    for (const auto b : bytes) sum += b;
    return sum;
  }
  bool has_pieces() const {
    return std::any_of(blocks.begin(), blocks.end(), [](const RowBlock& b) { return b.piece; });
  }
};

template <BlockSource B>
BlockList list_of(std::shared_ptr<const B> source, std::string kernel) {
  BlockList list{.rows = source->rows(),
                 .cols = source->cols(),
                 .nnz = source->nnz(),
                 .blocks = {},
                 .bytes = {},
                 .copies = [source](std::int64_t i) { return source->copies(i); },
                 .kernel = std::move(kernel)};
  for (std::int64_t i = 0; i < source->count(); ++i) {
    list.blocks.push_back(source->block(i));
    list.bytes.push_back(source->bytes(i));
  }
  return list;
}

/// The arithmetic of one product over a BlockList.
struct BlockProduct {
  std::int64_t entry_bytes = 0;  // of x and y
  bool reads_y = false;
  std::function<void(std::int64_t block, const std::byte* slot, const void* x, void* y, Stream)> run;
  /// Adds the `count` sums of a split row's pieces, in order, and updates its entry of y; all in host memory.
  std::function<void(const void* cells, std::int64_t count, void* y)> join;
};

/// A BlockProduct's join, which is one for all sources.
template <Semiring S>
std::function<void(const void*, std::int64_t, void*)> join_of(Scale<S> scale) {
  using T = typename S::value_type;
  return [scale](const void* cells, std::int64_t count, void* y) {
    T sum = S::zero();
    for (std::int64_t i = 0; i < count; ++i) sum = S::add(sum, static_cast<const T*>(cells)[i]);
    auto& entry = *static_cast<T*>(y);
    entry = scale(sum, entry);
  };
}

template <Semiring S, BlockSource B>
BlockProduct product_of(std::shared_ptr<const B> source, Scale<S> scale) {
  using T = typename S::value_type;
  return {.entry_bytes = sizeof(T),
          .reads_y = !(scale.beta == S::zero()),
          .run =
              [source, scale](std::int64_t i, const std::byte* slot, const void* x, void* y, Stream stream) {
                source->template multiply<S>(i, slot, static_cast<const T*>(x), static_cast<T*>(y),
                                             source->block(i).piece ? Scale<S>{} : scale, stream);
              },
          .join = join_of<S>(scale)};
}

}  // namespace penstock
