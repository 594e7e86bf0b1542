#include "penstock/io/generate/key_passes.hpp"

#include <algorithm>
#include <sstream>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kKeyBytes = 16;  // of a key, and of its copy in the buffer that it is sorted into

/// Cuts ranges so that each holds at most `buffer` keys. A granule that holds more is counted again in finer granules.
struct Cutter {
  const std::function<std::vector<std::int64_t>(KeyRange)>& count;
  std::int64_t buffer;
  std::vector<KeyRange> passes;
  KeyRange open;
  std::int64_t held = 0;

  void add(KeyRange part, std::int64_t keys) {
    if (held > 0 && held + keys > buffer) close();
    open.last = part.last;
    held += keys;
  }
  void close() {
    passes.push_back(open);
    open = {open.last, open.last};
    held = 0;
  }
  void cut(KeyRange range, const std::vector<std::int64_t>& counts) {
    const auto shift = granule_shift(range);
    for (std::size_t g = 0; g < counts.size(); ++g) {
      const auto first = range.first + (std::uint64_t{g} << shift);
      const KeyRange part{first, std::min(first + (std::uint64_t{1} << shift), range.last)};
      if (counts[g] > buffer && part.size() > 1) cut(part, count(part));
      else add(part, counts[g]);  // these are copies of one key, of which only one is kept
    }
  }
};

[[noreturn]] void refuse(const PassNeeds& needs, std::int64_t result, std::int64_t least) {
  const auto gb = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  std::ostringstream text;
  text.precision(3);
  text << needs.what << " needs at least " << gb(least) << " GB (" << gb(result) << " GB the matrix, "
       << gb(least - result) << " GB to sort it in parts) and " << gb(needs.free_bytes) << " GB are free on "
       << needs.where << ": ask for fewer rows or entries, or make it on the CPU";
  throw Error(Errc::out_of_memory, text.str());
}

}  // namespace

PassPlan plan_passes(const PassNeeds& needs, const std::function<std::int64_t(std::int64_t)>& sort_bytes,
                     const std::function<std::vector<std::int64_t>(KeyRange)>& count) {
  const auto all = needs.shape.all();
  const auto fixed = 8 * (needs.shape.rows + 1) + kSmallBytes;
  const auto room_for = [&](std::int64_t keys) {
    return std::min(keys, needs.shape.rows * needs.shape.cols);
  };
  PassPlan plan;
  plan.capacity = room_for(needs.most_keys);
  plan.buffer = needs.most_keys;
  const auto bytes = [&] {
    return fixed + plan.capacity * needs.entry_bytes + plan.buffer * kKeyBytes + sort_bytes(plan.buffer);
  };
  plan.bytes = bytes();
  if (plan.bytes <= needs.free_bytes) {
    plan.passes = {all};
    return plan;
  }
  const auto smallest = [&](std::int64_t keys) {  // how many bytes must be free at least
    plan.buffer = (keys + kMostPasses - 1) / kMostPasses;
    return bytes();
  };
  const auto counts = count(all);
  std::int64_t total = 0;
  for (const auto c : counts) total += c;
  plan.capacity = room_for(total);
  const auto result = 8 * (needs.shape.rows + 1) + plan.capacity * needs.entry_bytes;
  if (const auto least = smallest(total); least > needs.free_bytes) refuse(needs, result, least);
  const auto room = needs.free_bytes - fixed - plan.capacity * needs.entry_bytes;
  const auto most = std::min(total, room / kKeyBytes);
  plan.buffer = std::max(plan.buffer, std::min(total, (room - sort_bytes(most)) / kKeyBytes));
  plan.bytes = bytes();
  Cutter cutter{count, plan.buffer, {}, {all.first, all.first}};
  cutter.cut(all, counts);
  cutter.close();
  plan.passes = std::move(cutter.passes);
  return plan;
}

}  // namespace penstock
