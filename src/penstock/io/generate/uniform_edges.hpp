#pragma once
#include <cstdint>

#include "penstock/io/generate/edge.hpp"
#include "penstock/io/generate/generate_uniform.hpp"
#include "penstock/io/random.hpp"

namespace penstock {

/// The entries of a uniform matrix, before duplicates are merged, as functions of their numbers: for threads of the CPU and
/// of a GPU.
class UniformEdges {
 public:
  static constexpr int kCells = 0;  // it draws from no table

  /// Throws Error{invalid_argument} that names a bad option.
  explicit UniformEdges(const UniformOptions& options);

  constexpr std::int64_t units() const { return entries_; }
  constexpr bool mirrored() const { return false; }
  constexpr Edge operator()(std::int64_t e) const {
    const auto counter = static_cast<std::uint64_t>(e) * 2;
    return {below(random_(counter), rows_), below(random_(counter + 1), cols_)};
  }

 private:
  std::int64_t rows_, cols_, entries_ = 0;
  Random random_;
};

}  // namespace penstock
