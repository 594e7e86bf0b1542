// Calls as text, and as hashes: the hash of a call covers all calls before it. So two ranks whose last hashes are equal have
// made the same calls, and one comparison of 8 bytes at each meeting is enough to find ranks that disagree. Texts are made
// only when ranks do disagree.
#include "penstock/comm/calls.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace penstock {
namespace {

std::uint64_t mixed(std::uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ULL;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ULL;
  return h ^ (h >> 32);
}
std::uint64_t join(std::uint64_t a, std::uint64_t b) { return mixed(a * 0x9e3779b97f4a7c15ULL + b + 1); }

struct Field {
  std::string name, value;
};
/// The first of them is the name of the call, and has no value.
std::vector<Field> fields_of(const std::string& text) {
  std::vector<Field> out;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    const auto tab = line.find('\t');
    out.push_back({line.substr(0, tab), tab == std::string::npos ? "" : line.substr(tab + 1)});
    at = end + 1;
  }
  return out;
}

std::string in_words(const std::vector<Field>& fields) {
  std::string out = fields.front().name;
  for (std::size_t i = 1; i < fields.size(); ++i)
    out += (i == 1 ? " (" : ", ") + fields[i].name + " " + fields[i].value;
  return fields.size() > 1 ? out + ")" : out;
}

}  // namespace

const char* name(Verb verb) {
  switch (verb) {
    case Verb::barrier: return "barrier";
    case Verb::broadcast: return "broadcast";
    case Verb::all_gather: return "all_gather";
    case Verb::all_gather_v: return "all_gather_v";
    case Verb::gather_v: return "gather_v";
    case Verb::scatter_v: return "scatter_v";
    case Verb::all_to_all_v: return "all_to_all_v";
    case Verb::all_reduce_sum: return "all_reduce(sum)";
    case Verb::all_reduce_min: return "all_reduce(min)";
    case Verb::all_reduce_max: return "all_reduce(max)";
    case Verb::reduce_sum: return "reduce_sum";
    case Verb::start_sum: return "start_sum";
    case Verb::persistent: return "persistent";
    case Verb::neighborhood: return "neighborhood";
    case Verb::indexed: return "indexed";
    case Verb::put: return "put";
    case Verb::own_tag: return "own_tag";
    case Verb::exchange: return "an exchange";
    case Verb::messages: return "messages";
    case Verb::share: return "share";
    case Verb::split: return "split";
    case Verb::end: return "the end of its program";
    case Verb::second_half: return "the end of a collective call";
  }
  return "";
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) {
  auto h = join(seed, bytes);
  const auto* at = static_cast<const unsigned char*>(data);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    h = join(h, word);
  }
  std::uint64_t rest = 0;
  if (bytes > 0) std::memcpy(&rest, at, bytes);
  return join(h, rest);
}

Call reduction_call(Reduce op, std::int64_t bytes, char type) {
  const auto verb = op == Reduce::sum   ? Verb::all_reduce_sum
                    : op == Reduce::min ? Verb::all_reduce_min
                                        : Verb::all_reduce_max;
  return {.verb = verb, .bytes = bytes, .type = type};
}

Call with_offsets(Verb verb, int root, std::span<const std::int64_t> offsets) {
  return {.verb = verb,
          .root = root,
          .bytes = offsets.back() - offsets.front(),
          .more = hash_bytes(offsets.data(), offsets.size_bytes())};
}

int own_tag_of(std::int64_t number) {
  constexpr int kFirst = 9000, kTags = 16000;
  return kFirst + static_cast<int>(number % kTags);
}

Topic::Topic(std::string t) : text(std::move(t)), hash(hash_bytes(text.data(), text.size())) {}

std::uint64_t Call::hash() const {
  auto h = join(static_cast<std::uint64_t>(verb), static_cast<std::uint64_t>(root));
  h = join(h, static_cast<std::uint64_t>(bytes));
  h = join(h, more + static_cast<unsigned char>(type));
  return topic ? join(h, topic->hash) : h;
}

std::string Call::text() const {
  std::string out = name(verb);
  if (const auto op = out.find('('); op != out.npos) out.resize(op);  // the operation is shown as an argument
  if (topic) out = topic->text + "\nwithin it\t" + out;
  if (root >= 0) out += "\nroot\t" + std::to_string(root);
  if (verb == Verb::all_reduce_sum) out += "\nop\tsum";
  if (verb == Verb::all_reduce_min) out += "\nop\tmin";
  if (verb == Verb::all_reduce_max) out += "\nop\tmax";
  if (type) out += std::string("\ndtype\t") + (type == 'd' ? "float64" : "int64");
  if (type && bytes >= 0) out += "\nvalues\t" + std::to_string(bytes / 8);
  else if (bytes >= 0) out += "\nbytes\t" + std::to_string(bytes);
  if (verb == Verb::exchange && !topic) out += "\nnumber\t" + std::to_string(more);
  return out;
}

std::string disagreement(int rank, const std::string& text, int other, const std::string& other_text) {
  if (other < rank) return disagreement(other, other_text, rank, text);
  const auto a = fields_of(text), b = fields_of(other_text);
  const auto who = [](int r) { return "rank " + std::to_string(r); };
  if (is_end(text) || is_end(other_text)) {
    const bool first = is_end(text);
    return who(first ? rank : other) + " has ended, but " + who(first ? other : rank) + " waits for it in " +
           in_words(first ? b : a) + ": all ranks must make the same collective calls";
  }
  if (a.front().name == b.front().name) {
    for (std::size_t i = 1; i < a.size() || i < b.size(); ++i) {
      const auto &mine = i < a.size() ? a[i] : b[i], &theirs = i < b.size() ? b[i] : a[i];
      if (mine.name != theirs.name) break;
      const auto given = [&](const std::vector<Field>& f) { return i < f.size() ? f[i].value : "nothing"; };
      if (given(a) == given(b)) continue;
      return a.front().name + ": ranks disagree on " + mine.name + ": " + who(rank) + " gives " + given(a) +
             ", " + who(other) + " gives " + given(b) + ": all ranks must give the same";
    }
    if (text == other_text)
      return "ranks disagree: " + who(rank) + " and " + who(other) + " both call " + in_words(a) +
             ", but not the same one: all ranks must make the same collective calls in the same order";
  }
  return "ranks disagree: " + who(rank) + " calls " + in_words(a) + ", " + who(other) + " calls " +
         in_words(b) + ": all ranks must make the same collective calls in the same order";
}

bool is_end(const std::string& text) { return text == name(Verb::end); }

const Calls::Entry& Calls::begin(Call call) {
  if (!call.topic) call.topic = topic_;
  const auto before = entry(number_).now;
  auto& e = kept_[static_cast<std::size_t>(++number_ % kKept)];
  e.number = number_, e.before = before, e.now = join(before, call.hash()), e.refused = false;
  e.call = std::move(call);
  return e;
}

void Calls::refuse() {
  auto& e = kept_[static_cast<std::size_t>(number_ % kKept)];
  e.refused = true, e.now = e.before;
}

const Calls::Entry* Calls::find(std::int64_t number) const {
  const bool kept = number > 0 && number <= number_ && number > number_ - kKept;
  return kept && !entry(number).refused ? &entry(number) : nullptr;
}

}  // namespace penstock
