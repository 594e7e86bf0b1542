#pragma once
#include <memory>
#include <string_view>

#include "penstock/dist/tile/tile_sum.hpp"

// Products of tiles that lie in the memory of a GPU: blobs, sums and pieces are all there. A call returns when its work on the
// GPU is done, so that clocks of the host are true; copies of other tiles go on meanwhile on the transport's stream.
namespace penstock {

/// The most bytes of sparse factors' tiles that a rank holds on its GPU to multiply them together with those that follow.
inline constexpr std::int64_t kJoinedBytes = std::int64_t{2} << 30;

/// Sums of a product are made apart and added to C's tile where less than this part of the rows has some.
inline constexpr double kFewRows = 0.375;

/// The product with a dense B: plus_times of float32 or float64, A of the same type or a pattern. Null: there is none. The CPU
/// is a device, too.
std::unique_ptr<LocalProduct> local_spmm_gpu(std::string_view semiring, TileValue a, TileValue b,
                                             Where where);
/// The product with a sparse B: the same, where B may be a pattern as well, and or_and of two patterns. Null: there is none.
std::unique_ptr<LocalProduct> local_spgemm_gpu(std::string_view semiring, TileValue a, TileValue b,
                                               Where where);

/// local_spmm_gpu or local_spgemm_gpu. Throws Error{not_compiled} for what there is not.
std::unique_ptr<LocalProduct> local_product_on(Where where, std::string_view semiring, TileValue a,
                                               TileValue b, bool b_sparse);

/// Throws Error{invalid_argument} on all ranks unless A and B are on one device, on each rank its own, or both in host
/// memory. Collective.
void require_same_devices(const TileMatrix& a, const TileMatrix& b);

}  // namespace penstock
