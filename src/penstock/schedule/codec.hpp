#pragma once
#include <cstdint>
#include <string_view>

namespace penstock {

/// How entries travel to a device, all of them without loss; in the order of kCodecs.
enum class Codec : std::uint8_t { raw, packed, ell_g };

/// A row of the list, and what a product in this form costs.
struct CodecFacts {
  std::string_view name, text;
  bool automatic;  // whether "auto" tries it
  int copies;      // of a block
  // Nonzeros that kernels take while device memory could read a byte. Measured in core on R-MAT 24, a pattern times float64, on a
  // GPU that reads 4.42 TB/s (an H200): raw 195 and packed 184 GFLOP/s; ell_g counts as raw. Gathers from x bind.
  double nonzeros_per_byte;
  // Nonzeros that a thread brings into this form; 0: there is nothing to do. Measured with 16 entries a row at random columns, and
  // with a 3-D stencil: packed 455 and 169 million, ell_g 52 and 389 million.
  double encoded_per_second;
};
inline constexpr double kMeasuredOn = 4.42e12;  // bytes per second
inline constexpr CodecFacts kCodecs[] = {
    {"raw", "the CSR arrays as they are", true, 3, 97.5e9 / kMeasuredOn, 0},
    {"packed", "columns as gaps of few bits", true, 1, 92e9 / kMeasuredOn, 200e6},
    {"ell_g", "column-major rows with their lengths", false, 1, 97.5e9 / kMeasuredOn, 50e6},
};
inline constexpr std::string_view name(Codec codec) { return kCodecs[static_cast<int>(codec)].name; }
static_assert(name(Codec::raw) == "raw" && name(Codec::packed) == "packed" && name(Codec::ell_g) == "ell_g");

}  // namespace penstock
