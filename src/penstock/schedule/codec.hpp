#pragma once
#include <cstdint>
#include <string_view>

#include "penstock/core/choice.hpp"

namespace penstock {

/// How entries travel to a device, all of them without loss; in the order of kCodecs.
enum class Codec : std::uint8_t { raw, packed, ell_g };
inline constexpr Choice kCodecs[] = {
    {"raw", "the CSR arrays as they are"},
    {"packed", "columns as gaps of few bits"},
    {"ell_g", "column-major rows with their lengths"},
};
inline constexpr std::string_view name(Codec codec) { return kCodecs[static_cast<int>(codec)].name; }
static_assert(name(Codec::raw) == "raw" && name(Codec::packed) == "packed" && name(Codec::ell_g) == "ell_g");

}  // namespace penstock
