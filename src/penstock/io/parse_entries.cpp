// Lines of "row column value" to arrays, on all threads.
//
// The text is cut into pieces at newlines. A piece may hold as many entries as lines, so counting newlines (which runs at
// memory speed) tells every piece where to write before anything is parsed. Blank lines and comments leave gaps, which
// are rare and closed at the end.
#include "penstock/io/parse_entries.hpp"

#include <algorithm>
#include <cstring>

#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kExact = std::int64_t{1} << 53;  // beyond it float64 skips integers

struct Entry {
  std::int64_t row = 0, col = 0;
  double real = 1, imaginary = 0;
};

void store(const EntryArrays& out, std::int64_t k, const Entry& e) {
  if (out.wide_row) static_cast<std::int64_t*>(out.row)[k] = e.row;
  else static_cast<std::int32_t*>(out.row)[k] = static_cast<std::int32_t>(e.row);
  out.col[k] = static_cast<std::int32_t>(e.col);
  switch (out.kind) {
    case ValueKind::none: break;
    case ValueKind::float32: static_cast<float*>(out.values)[k] = static_cast<float>(e.real); break;
    case ValueKind::float64: static_cast<double*>(out.values)[k] = e.real; break;
    case ValueKind::complex64:
      static_cast<float*>(out.values)[2 * k] = static_cast<float>(e.real);
      static_cast<float*>(out.values)[2 * k + 1] = static_cast<float>(e.imaginary);
      break;
    case ValueKind::complex128:
      static_cast<double*>(out.values)[2 * k] = e.real;
      static_cast<double*>(out.values)[2 * k + 1] = e.imaginary;
  }
}

std::string no_number(scan::Number why, std::string_view token, const char* kind) {
  if (why == scan::Number::too_large) return scan::shown(token) + " is too large for " + kind;
  return scan::shown(token) + " is not " + (std::strcmp(kind, "float64") == 0 ? "a number" : "an integer");
}

struct LineParser {
  const EntryFormat& f;

  std::string index(std::string_view token, bool row, std::int64_t& out) const {
    std::int64_t n;
    if (const auto why = scan::integer(token, n); why != scan::Number::fine)
      return std::string(row ? "row number " : "column number ") + no_number(why, token, "a 64-bit integer") + ": " + f.hint;
    out = n - f.base;
    const auto extent = row ? f.rows : f.cols;
    if (n >= f.base && out < extent) return {};
    return std::string(row ? "row number " : "column number ") + std::to_string(n) + " is outside " +
           std::to_string(f.base) + " .. " + std::to_string(extent - 1 + f.base) + ": " + f.hint;
  }

  std::string field(char kind, std::string_view token, Entry& e) const {
    switch (kind) {
      case 'i': return index(token, true, e.row);
      case 'j': return index(token, false, e.col);
      case 'x': return {};
      case 'a': return token == "a" ? std::string() : "the line starts with " + scan::shown(token) + ", not with 'a'";
      case 'n': {
        std::int64_t n;
        if (const auto why = scan::integer(token, n); why != scan::Number::fine)
          return "value " + no_number(why, token, "a 64-bit integer");
        if (n > kExact || n < -kExact) return "value " + scan::shown(token) + " is beyond 2^53: float64 would round it";
        e.real = static_cast<double>(n);
        return {};
      }
      default: {
        const auto why = scan::real(token, kind == 'v' ? e.real : e.imaginary);
        return why == scan::Number::fine ? std::string() : "value " + no_number(why, token, "float64");
      }
    }
  }

  /// The usual line, without strings or messages: plain digits, a good value, blanks between them, nothing more. Where
  /// that is not what stands there, returns false, and `line` looks again with care.
  bool usual_line(const char*& at, const char* end, Entry& e) const {
    const char* p = at;
    for (const char kind : f.columns) {
      p = scan::skip_blanks(p, end);
      if (kind == 'i' || kind == 'j') {
        const char* start = p;
        std::int64_t n = 0;
        for (unsigned digit; p != end && (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10; ++p)
          if (p - start < 18) n = n * 10 + digit;
        n -= f.base;
        if (p == start || p - start > 18 || n < 0 || n >= (kind == 'i' ? f.rows : f.cols)) return false;
        (kind == 'i' ? e.row : e.col) = n;
      } else if (kind == 'v' || kind == 'w') {
        const auto [stop, error] = std::from_chars(p, end, kind == 'v' ? e.real : e.imaginary);
        if (error != std::errc()) return false;
        p = stop;
      } else if (kind == 'n') {
        std::int64_t n;
        const auto [stop, error] = std::from_chars(p, end, n);
        if (error != std::errc() || n > kExact || n < -kExact) return false;
        e.real = static_cast<double>(n);
        p = stop;
      } else if (kind == 'a') {
        if (p == end || *p++ != 'a') return false;
      } else {
        const char* start = p;
        if ((p = scan::token_end(p, end, 0)) == start) return false;
      }
      if (p != end && !scan::is_blank(*p) && *p != '\n') return false;
    }
    p = scan::skip_blanks(p, end);
    if (p != end && *p != '\n') return false;
    at = p == end ? p : p + 1;
    return true;
  }

  /// Parses the line at p; p ends behind it. Returns whether it holds an entry.
  bool line(const char*& p, const char* end, Entry& e, std::optional<scan::Fault>& fault) const {
    p = scan::skip_blanks(p, end);
    const char* start = p;
    if (f.separator == 0 && (p == end || f.comments.find(*p) == f.comments.npos) && usual_line(p, end, e)) return true;
    const bool skip = p == end || *p == '\n' || f.comments.find(*p) != f.comments.npos;
    for (std::size_t c = 0; !skip && c < f.columns.size(); ++c) {
      const char* token = p;
      p = scan::token_end(p, end, f.separator);
      const std::string_view text(token, static_cast<std::size_t>(p - token));
      std::string what;
      if (text.empty()) what = "the line has " + std::to_string(c) + " of the " + std::to_string(f.columns.size()) + " fields";
      else what = field(f.columns[c], f.separator ? scan::unquoted(text) : text, e);
      p = scan::skip_blanks(p, end);
      if (what.empty() && f.separator && c + 1 < f.columns.size() && p != end && *p == f.separator)
        p = scan::skip_blanks(p + 1, end);
      if (!what.empty()) return fault = scan::Fault{start, what}, false;
    }
    if (!skip && p != end && *p != '\n') {
      const std::string_view more(p, static_cast<std::size_t>(scan::token_end(p + 1, end, f.separator) - p));
      fault = scan::Fault{start, "the line goes on with " + scan::shown(more) + " after " +
                                     std::to_string(f.columns.size()) + " fields"};
      return false;
    }
    if (p != end) p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    p = p == nullptr || p == end ? end : p + 1;
    return !skip;
  }
};

std::size_t value_bytes(ValueKind kind) {
  constexpr std::size_t kBytes[] = {0, 4, 8, 8, 16};
  return kBytes[static_cast<std::size_t>(kind)];
}

void move_down(void* data, std::size_t bytes, std::int64_t to, std::int64_t from, std::int64_t count) {
  auto* base = static_cast<char*>(data);
  if (bytes != 0)
    std::memmove(base + static_cast<std::size_t>(to) * bytes, base + static_cast<std::size_t>(from) * bytes,
                 static_cast<std::size_t>(count) * bytes);
}

}  // namespace

Parsed parse_entries(std::string_view text, const EntryFormat& format, const EntryArrays& out,
                     const scan::Source& source) {
  const auto parts = scan::pieces(text);
  const auto n = static_cast<std::int64_t>(parts.size());
  std::vector<std::int64_t> start(parts.size() + 1), count(parts.size());
  parallel_for(n, [&](std::int64_t i) {
    const auto& part = parts[static_cast<std::size_t>(i)];
    start[static_cast<std::size_t>(i) + 1] = std::count(part.begin(), part.end(), '\n') + (part.back() != '\n');
  });
  for (std::size_t i = 0; i < parts.size(); ++i) start[i + 1] += start[i];
  if (start.back() > out.room) return {-1, start.back()};
  std::vector<std::optional<scan::Fault>> faults(parts.size());
  parallel_for(n, [&](std::int64_t piece) {
    const auto i = static_cast<std::size_t>(piece);
    const LineParser parser{format};
    const char* p = parts[i].data();
    const char* end = p + parts[i].size();
    auto k = start[i];
    for (Entry e; p != end && !faults[i];)
      if (parser.line(p, end, e, faults[i])) store(out, k++, e);
    count[i] = k - start[i];
  });
  for (const auto& fault : faults)
    if (fault) scan::raise(*fault, text, source);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (total != start[i]) {
      move_down(out.row, out.wide_row ? 8 : 4, total, start[i], count[i]);
      move_down(out.col, 4, total, start[i], count[i]);
      move_down(out.values, value_bytes(out.kind), total, start[i], count[i]);
    }
    total += count[i];
  }
  return {total, start.back()};
}

}  // namespace penstock
