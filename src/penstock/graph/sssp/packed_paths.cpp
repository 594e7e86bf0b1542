#include "penstock/graph/sssp/packed_paths.hpp"

#include <sstream>
#include <type_traits>

#include "penstock/core/error.hpp"
#include "penstock/graph/sssp/packed_lengths.hpp"

namespace penstock {

std::optional<int> packed_weight_bits(const PathWeights& w) {
  if (std::holds_alternative<std::monostate>(w.whole)) return {};
  const int bits = length_bits(std::uint32_t(w.smallest), std::uint32_t(w.largest));
  return bits <= kLengthBits ? std::optional(bits) : std::nullopt;
}

void require_packed_weights(const PathWeights& w) {
  if (packed_weight_bits(w)) return;
  std::ostringstream text;
  text.precision(17);
  text << "packed lists hold lengths that are whole numbers, less than 2^" << kLengthBits
       << " above the least one, and these ";
  if (std::holds_alternative<std::monostate>(w.whole))
    text << "are " << w.smallest << " to " << w.largest
         << ", some with fractions, infinite or above 2^31 - 1";
  else text << "are " << w.smallest << " to " << w.largest;
  throw Error(Errc::invalid_argument, text.str() + ": choose another placement than \"packed\"");
}

PackLengths lengths_to_pack(const PathWeights& w) {
  require_packed_weights(w);
  return std::visit(
      [&]<class A>(const A& whole) -> PackLengths {
        if constexpr (std::is_same_v<A, std::monostate>) return {};
        else
          return {.values = {reinterpret_cast<const std::byte*>(whole.data), whole.bytes(), whole.place,
                             whole.owner},
                  .entry_bytes = int(sizeof *whole.data),
                  .least = std::uint32_t(w.smallest),
                  .bits = *packed_weight_bits(w)};
      },
      w.whole);
}

PackedLists pack_weights(const PackedLists& lists, const CsrView<One>& graph, const PathWeights& w) {
  require_packed_weights(w);
  return std::visit(
      [&]<class A>(const A& whole) {
        if constexpr (std::is_same_v<A, std::monostate>) return PackedLists{};
        else {
          require(whole.size == graph.nnz(), "the weights are not those of the matrix");
          return with_lengths(lists, graph, whole.data, std::uint32_t(w.smallest), std::uint32_t(w.largest));
        }
      },
      w.whole);
}

}  // namespace penstock
