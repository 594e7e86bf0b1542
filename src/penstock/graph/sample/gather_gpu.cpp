// Rows of a feature matrix, copied by a device in the largest words to which everything is aligned.
#include "penstock/graph/sample/gather_gpu.hpp"

#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/gather_steps.hpp"

namespace penstock::graph {

template <class Id>
void gather_rows_on(const FeatureRows& features, const Id* ids, std::int64_t n, std::byte* out,
                    Stream stream) {
  require(!is_capturing(stream),
          "gather looks at its ids before it copies rows, which a stream that is being captured cannot: "
          "gather before the capture");
  const auto bad = find_first(n, IsOutside<Id>{ids, features.rows}, stream);
  if (bad != kNone)
    throw Error(Errc::invalid_argument, "ids[" + std::to_string(bad) +
                                            "]=" + std::to_string(fetch(ids + bad, stream)) + " is outside " +
                                            std::to_string(features.rows) + " rows of features");
  if (features.row_bytes == 0) return;
  const auto together =
      reinterpret_cast<std::uintptr_t>(features.first) | reinterpret_cast<std::uintptr_t>(out) |
      static_cast<std::uintptr_t>(features.row_bytes) | static_cast<std::uintptr_t>(features.stride);
  const auto copy = [&]<class Word>(Word) {
    constexpr auto kWord = static_cast<std::int64_t>(sizeof(Word));
    const auto words = features.row_bytes / kWord;
    const int log = log_threads_of(words);
    each(n << log,
         CopyRowWords<Word, Id>{reinterpret_cast<const Word*>(features.first), features.stride / kWord, words,
                                log, ids, reinterpret_cast<Word*>(out)},
         stream);
  };
  if (together % sizeof(Word16) == 0) copy(Word16{});
  else if (together % sizeof(std::uint64_t) == 0) copy(std::uint64_t{});
  else if (together % sizeof(std::uint32_t) == 0) copy(std::uint32_t{});
  else if (together % sizeof(std::uint16_t) == 0) copy(std::uint16_t{});
  else copy(std::uint8_t{});
}

template void gather_rows_on(const FeatureRows&, const std::int32_t*, std::int64_t, std::byte*, Stream);
template void gather_rows_on(const FeatureRows&, const std::int64_t*, std::int64_t, std::byte*, Stream);

}  // namespace penstock::graph
