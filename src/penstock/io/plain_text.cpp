// Checks the form of lines by a finite automaton: one look into a table for each byte. All threads take part; each walks
// pieces of the text that begin after a newline.
#include "penstock/io/plain_text.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

// Inside a column, in the order in which a number is spelled. kStart of the first column also begins a line.
enum State : std::uint8_t {
  kStart,
  kMinus,
  kDigits,
  kPoint,
  kBarePoint,
  kFraction,
  kE,
  kESign,
  kExponent,
  kStates
};
constexpr std::int64_t kPiece = 1 << 20;
// Pieces that a thread walks at once: a step has to wait for the step before, but not for those of other pieces.
constexpr int kWalks = 4;
using Row = std::array<std::uint8_t, 256>;

class Automaton {
 public:
  explicit Automaton(std::string_view columns) {
    require(!columns.empty() && columns.size() < 8 && columns.find_first_not_of("ijnvw") == columns.npos,
            "columns '" + std::string(columns) + "': give up to 7 of i, j, n, v, w");
    fault_ = static_cast<std::uint8_t>(columns.size() * kStates);
    Row fault;
    fault.fill(fault_);
    table_.assign(columns.size() * kStates + 1, fault);  // the last row is the fault, which nothing leaves
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool real = columns[c] == 'v' || columns[c] == 'w', sign = real || columns[c] == 'n';
      const auto next = static_cast<std::uint8_t>((c + 1) % columns.size() * kStates);
      const unsigned char end = c + 1 == columns.size() ? '\n' : ' ';
      const auto go = [&](State from, unsigned char byte, State to) {
        table_[c * kStates + from][byte] = static_cast<std::uint8_t>(c * kStates + to);
      };
      const auto digits = [&](State from, State to) {
        for (unsigned char d = '0'; d <= '9'; ++d) go(from, d, to);
      };
      digits(kStart, kDigits), digits(kDigits, kDigits);
      if (sign) go(kStart, '-', kMinus), digits(kMinus, kDigits);
      if (real) {
        go(kStart, '.', kBarePoint), go(kMinus, '.', kBarePoint), go(kDigits, '.', kPoint);
        digits(kPoint, kFraction), digits(kBarePoint, kFraction), digits(kFraction, kFraction);
        for (const State s : {kDigits, kPoint, kFraction}) go(s, 'e', kE), go(s, 'E', kE);
        go(kE, '-', kESign), go(kE, '+', kESign), digits(kE, kExponent), digits(kESign, kExponent);
        digits(kExponent, kExponent);
      }
      for (const State s : {kDigits, kPoint, kFraction, kExponent}) table_[c * kStates + s][end] = next;
    }
  }

  using Lines = std::span<const unsigned char>;  // whole lines, the newline of the last one included

  bool accepts(const std::array<Lines, kWalks>& walks) const {
    std::uint8_t state[kWalks] = {};
    const Row* table = table_.data();
    const auto common = std::min({walks[0].size(), walks[1].size(), walks[2].size(), walks[3].size()});
    for (std::size_t i = 0; i < common; ++i)
      for (std::size_t w = 0; w < kWalks; ++w) state[w] = table[state[w]][walks[w][i]];
    for (std::size_t w = 0; w < kWalks; ++w) {
      for (auto i = common; i < walks[w].size(); ++i) state[w] = table[state[w]][walks[w][i]];
      if (state[w] != kStart) return false;
    }
    return true;
  }

 private:
  std::uint8_t fault_;
  std::vector<Row> table_;
};

}  // namespace

std::int64_t plain_lines(std::span<const unsigned char> text, std::string_view columns) {
  const Automaton automaton(columns);
  const auto size = std::ssize(text);
  // The begin of the first line that begins at `at` or later.
  const auto line_from = [&](std::int64_t at) -> std::int64_t {
    if (at == 0 || at >= size) return std::min(at, size);
    const auto* found = std::memchr(text.data() + at - 1, '\n', static_cast<std::size_t>(size - at + 1));
    return found ? static_cast<const unsigned char*>(found) - text.data() + 1 : size;
  };
  std::atomic<bool> plain = true;
  std::atomic<std::int64_t> lines = 0;
  parallel_ranges(size, kPiece, [&](std::int64_t first, std::int64_t last) {
    std::array<Automaton::Lines, kWalks> walks;
    for (std::int64_t w = 0; w < kWalks; ++w) {
      const auto begin = line_from(first + (last - first) * w / kWalks);
      const auto end = line_from(first + (last - first) * (w + 1) / kWalks);
      walks[static_cast<std::size_t>(w)] =
          text.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    }
    if (!plain) return;
    if (!automaton.accepts(walks)) plain = false;
    for (const auto& walk : walks) lines += std::count(walk.begin(), walk.end(), '\n');
  });
  return plain ? lines.load() : -1;
}

}  // namespace penstock
