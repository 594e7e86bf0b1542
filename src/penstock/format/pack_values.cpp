#include "penstock/format/pack_values.hpp"

#include <mutex>

namespace penstock {
namespace {

constexpr std::int64_t kValuesOfATask = 1 << 18;
constexpr std::int64_t kLook = 1 << 12;  // values between two looks at what other threads have found out

/// What all values seen so far have in common.
struct Findings {
  bool int8 = true, int16 = true, bfloat16 = true, float16 = true, float32 = true, few = true;
  bool any() const { return int8 || int16 || bfloat16 || float16 || float32 || few; }
  void join(const Findings& o) {
    int8 = int8 && o.int8, int16 = int16 && o.int16, float32 = float32 && o.float32, few = few && o.few;
    bfloat16 = bfloat16 && o.bfloat16, float16 = float16 && o.float16;
  }
};

template <class V>
void look_at(const V* values, std::int64_t count, Findings& found, Dictionary& dictionary) {
  if constexpr (std::is_arithmetic_v<V>) {
    const auto all = [&]<class U>(U) {
      return std::all_of(values, values + count, [](V v) { return holds<U>(v); });
    };
    found.int8 = found.int8 && all(std::int8_t());
    found.int16 = found.int16 && all(std::int16_t());
    found.bfloat16 = found.bfloat16 && all(Bfloat16());
    found.float16 = found.float16 && all(Float16());
    found.float32 = found.float32 && all(float());
  }
  ValueBits last;
  for (std::int64_t k = 0; k < count && found.few; ++k) {
    const auto v = bits_of(values[k]);
    if (k > 0 && v == last) continue;
    found.few = dictionary.add(v) >= 0;
    last = v;
  }
}

template <class V>
void encode(const Dictionary& known, const V* from, std::int64_t count, std::byte* to, bool nibbles) {
  auto dictionary = known;  // a copy, because `add` is not const; it finds what is there
  for (std::int64_t k = 0; k < count; ++k) {
    const auto code = static_cast<std::uint8_t>(dictionary.add(bits_of(from[k])));
    if (nibbles) to[k / 2] |= static_cast<std::byte>(code << (k % 2 * 4));
    else to[k] = static_cast<std::byte>(code);
  }
}

}  // namespace

template <class V>
ValueCode choose_code(const Array<const V>& values, int threads) {
  if constexpr (is_pattern<V>) return {};
  if (values.size == 0) return {.kind = ValueKind::raw, .dictionary = {}};
  std::mutex mutex;
  Findings all;
  if (!std::is_arithmetic_v<V>) all = {false, false, false, false, false, true};
  if (std::same_as<V, float>) all.float32 = false;  // they are float32 already: `raw`
  Dictionary dictionary;
  parallel_up_to(threads, (values.size + kValuesOfATask - 1) / kValuesOfATask, [&](std::int64_t part) {
    Dictionary mine;
    Findings found;
    const auto last = std::min(values.size, (part + 1) * kValuesOfATask);
    for (auto first = part * kValuesOfATask; first < last; first += kLook) {
      {
        const std::lock_guard lock(mutex);
        found.join(all);
        all.join(found);
        if (!all.any()) return;
      }
      look_at(values.data + first, std::min(kLook, last - first), found, mine);
    }
    const std::lock_guard lock(mutex);
    all.join(found);
    for (const auto& v : mine.entries())
      if (all.few) all.few = dictionary.add(v) >= 0;
  });
  ValueCode code;
  auto entries = dictionary.entries();
  std::sort(entries.begin(), entries.end());  // the order in which threads found them is arbitrary
  if (all.few)
    for (const auto& v : entries) code.dictionary.add(v);
  if (all.few && entries.size() == 1) code.kind = ValueKind::constant;
  else if (all.few && entries.size() <= 16) code.kind = ValueKind::dictionary4;
  else if (all.int8) code.kind = ValueKind::int8;
  else if (all.few) code.kind = ValueKind::dictionary8;
  else if (all.int16) code.kind = ValueKind::int16;
  else if (all.bfloat16) code.kind = ValueKind::bfloat16;
  else if (all.float16) code.kind = ValueKind::float16;
  else if (all.float32) code.kind = ValueKind::float32;
  else code.kind = ValueKind::raw;
  return code;
}

template <class V>
void write_values(const ValueCode& code, const V* from, std::int64_t count, std::byte* to, V* dictionary) {
  const auto convert = [&]<class U>(U* out) {
    using Step = std::conditional_t<is_short_float<U>, float, U>;
    for (std::int64_t k = 0; k < count; ++k) out[k] = static_cast<U>(static_cast<Step>(from[k]));
  };
  if (dictionary_size(code.kind) > 0)
    for (std::size_t i = 0; i < code.dictionary.entries().size(); ++i)
      std::memcpy(static_cast<void*>(&dictionary[i]), &code.dictionary.entries()[i], sizeof(V));
  switch (code.kind) {
    case ValueKind::none:
    case ValueKind::constant: return;
    case ValueKind::dictionary4: return encode(code.dictionary, from, count, to, true);
    case ValueKind::dictionary8: return encode(code.dictionary, from, count, to, false);
    case ValueKind::raw: std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(V)); return;
    case ValueKind::int8:
    case ValueKind::int16:
    case ValueKind::bfloat16:
    case ValueKind::float16:
    case ValueKind::float32: break;
  }
  if constexpr (std::is_arithmetic_v<V>) {
    if (code.kind == ValueKind::bfloat16) convert(reinterpret_cast<Bfloat16*>(to));
    if (code.kind == ValueKind::float16) convert(reinterpret_cast<Float16*>(to));
    if (code.kind == ValueKind::int8) convert(reinterpret_cast<std::int8_t*>(to));
    if (code.kind == ValueKind::int16) convert(reinterpret_cast<std::int16_t*>(to));
    if (code.kind == ValueKind::float32) convert(reinterpret_cast<float*>(to));
  }
}

#define X(V)                                                     \
  template ValueCode choose_code<V>(const Array<const V>&, int); \
  template void write_values<V>(const ValueCode&, const V*, std::int64_t, std::byte*, V*);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
