// The codes that are longer than what one read gives, and those that no graph has.
#include "penstock/io/webgraph/bv_reader.hpp"

namespace penstock {

void BvReader::fault() const {
  throw BvFault{at() + kMostBits >= size_ * 8 ? "the file ends within its list"
                                              : "its list has a number that is too large for a vertex"};
}

void BvReader::fill_at_end() {
  for (; have_ <= 55; have_ += 8, ++next_)
    if (next_ < size_) bits_ |= std::uint64_t(data_[next_]) << (56 - have_);
}

std::uint32_t BvReader::unary_long() {
  for (std::int64_t zeros = 0; at() < size_ * 8 && zeros < std::int64_t(1) << 31;) {
    fill();
    if (const int more = leading(); more < kSure) {
      take(more + 1);
      return static_cast<std::uint32_t>(zeros + more);
    }
    take(kSure);
    zeros += kSure;
  }
  fault();
}

std::uint64_t BvReader::gamma_long() {
  const int zeros = leading();
  if (zeros > kMostBits) fault();
  take(zeros + 1);
  return (std::uint64_t(1) << zeros | number(zeros)) - 1;
}

std::uint64_t BvReader::zeta_long(int k) {
  const int h = leading();
  if (h * k > kMostBits) fault();
  take(h + 1);
  const auto most = number(h * k + k - 1);
  const auto left = std::uint64_t(1) << (h * k);
  return most < left ? most + left - 1 : (most << 1 | number(1)) - 1;
}

}  // namespace penstock
