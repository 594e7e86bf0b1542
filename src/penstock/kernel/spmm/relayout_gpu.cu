// Changes the layout of a dense matrix: squares of 32 x 32 entries go through shared memory, so that the lanes of a warp read
// neighbours of the one layout and write neighbours of the other.
#include <cstdlib>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spmm/relayout.hpp"

namespace penstock::gpu {
namespace {

constexpr int kSide = 32;

struct alignas(16) Sixteen {
  unsigned long long v[2];
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    relayout_squares(T* to, std::int64_t to_row, std::int64_t to_col, const T* from, std::int64_t from_row,
                     std::int64_t from_col, std::int64_t rows, std::int64_t cols, std::int64_t across,
                     bool read_along_rows, bool write_along_rows) {
  __shared__ T square[kSide][kSide + 1];  // one more, so that a column is spread over the banks
  const std::int64_t i0 = blockIdx.x / across * kSide, j0 = blockIdx.x % across * kSide;
  const int lane = int(threadIdx.x) % kSide, first = int(threadIdx.x) / kSide;
  for (int k = first; k < kSide; k += kThreads / kSide) {
    const int i = read_along_rows ? k : lane, j = read_along_rows ? lane : k;
    if (i0 + i < rows && j0 + j < cols) square[i][j] = from[(i0 + i) * from_row + (j0 + j) * from_col];
  }
  __syncthreads();
  for (int k = first; k < kSide; k += kThreads / kSide) {
    const int i = write_along_rows ? k : lane, j = write_along_rows ? lane : k;
    if (i0 + i < rows && j0 + j < cols) to[(i0 + i) * to_row + (j0 + j) * to_col] = square[i][j];
  }
}

template <class T>
void run(const RawDense& to, const RawDense& from, std::int64_t rows, std::int64_t cols, Stream stream) {
  const auto across = (cols + kSide - 1) / kSide, squares = (rows + kSide - 1) / kSide * across;
  require(squares <= 0x7fffffff, [&] {
    return "a dense matrix of " + std::to_string(rows) + " x " + std::to_string(cols) +
           " is too large for one launch: give fewer columns at a time";
  });
  const auto along_rows = [](const RawDense& m) { return std::abs(m.col_step) <= std::abs(m.row_step); };
  launch(relayout_squares<T>, squares, stream, static_cast<T*>(to.data), to.row_step, to.col_step,
         static_cast<const T*>(from.data), from.row_step, from.col_step, rows, cols, across, along_rows(from),
         along_rows(to));
}

}  // namespace

void relayout(RawDense to, RawDense from, std::int64_t rows, std::int64_t cols, std::int64_t bytes,
              Stream stream) {
  if (rows == 0 || cols == 0) return;
  const UseDevice use(stream.where);
  if (bytes == 1) return run<std::uint8_t>(to, from, rows, cols, stream);
  if (bytes == 4) return run<std::uint32_t>(to, from, rows, cols, stream);
  if (bytes == 8) return run<std::uint64_t>(to, from, rows, cols, stream);
  require(bytes == 16, [&] { return "relayout: entries of " + std::to_string(bytes) + " bytes"; });
  run<Sixteen>(to, from, rows, cols, stream);
}

}  // namespace penstock::gpu
