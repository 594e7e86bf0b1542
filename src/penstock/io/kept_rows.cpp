#include "penstock/io/kept_rows.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {

KeptRows kept_rows(Array<const GlobalIndex> numbers, std::int64_t rows) {
  KeptRows keep;
  keep.count = numbers.size;
  auto places = allocate<Index>(rows);
  std::fill_n(places.data, rows, -1);
  for (std::int64_t i = 0; i < numbers.size; ++i) {
    const auto r = numbers.data[i];
    if (r < 0 || r >= rows || (i > 0 && numbers.data[i - 1] >= r))
      throw Error(Errc::invalid_argument, "row " + std::to_string(r) + " at place " + std::to_string(i) +
                                              ": rows to keep ascend, from 0 to " + std::to_string(rows - 1));
    places.data[r] = static_cast<Index>(i);
  }
  keep.numbers = numbers, keep.places = places;
  return keep;
}

}  // namespace penstock
