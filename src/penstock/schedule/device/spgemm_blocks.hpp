#pragma once
#include <cstdint>

#include "penstock/core/trace.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

// C = A B for A and B in the memory of one device, in blocks of rows: for a C that does not fit there, and for a part of C on a
// mask. The CPU can be the device.
namespace penstock {

struct SpgemmBlocksOptions {
  /// Only entries of C where the mask has one are kept. It is in the device's memory, its columns ascend within each row.
  const Csr<One>* mask = nullptr;
  bool to_host = true;  // C is to be in host memory; otherwise in the device's
  /// Bytes that C may take where it is to be; below 0: what is available there.
  std::int64_t memory = -1;
  /// Bytes that blocks of C may take in the device's memory, with what they are computed with; below 0: what is free there,
  /// less a reserve.
  std::int64_t block_memory = -1;
  SpgemmGpuMethod method = SpgemmGpuMethod::automatic;
};

/// C = A B, or the part of it on the mask, complete when it returns. A C that is to stay in the device's memory, without a mask
/// and a bound of blocks, is one call of spgemm_on. In blocks it is the same: the same structure, and the same bits where these
/// are the same in every run. Blocks are cut by an upper bound of their entries; while
/// one is computed, the one before it travels to the host. Where that bound exceeds what C may take, all entries are counted
/// before any is computed (without a mask, that is). Throws Error{out_of_memory} with the numbers where C exceeds `memory`, or
/// a row of it `block_memory`.
template <Semiring S>
Csr<ProductValue<S>> spgemm_in_blocks(const CsrView<typename S::value_type>& a,
                                      const CsrView<typename S::value_type>& b, Stream stream,
                                      const SpgemmBlocksOptions& options, Trace* trace = nullptr);

}  // namespace penstock
