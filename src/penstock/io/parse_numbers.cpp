#include "penstock/io/parse_numbers.hpp"

#include <algorithm>
#include <concepts>

#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

template <class T>
std::optional<scan::Fault> parse_piece(std::string_view text, const std::string& comments, Numbers<T>& out) {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p != end) {
    p = scan::skip_blanks(p, end);
    std::int64_t count = 0;
    if (p != end && comments.find(*p) != comments.npos) {
      p = std::find(p, end, '\n');
      count = -1;
    }
    while (p != end && *p != '\n') {
      const char* start = p;
      p = scan::token_end(p, end, 0);
      const std::string_view token(start, static_cast<std::size_t>(p - start));
      T value;
      scan::Number why;
      if constexpr (std::same_as<T, double>) why = scan::real(token, value);
      else why = scan::integer(token, value);
      if (why != scan::Number::fine) {
        const char* kind = std::same_as<T, double> ? "a number" : "an integer";
        const char* problem = why == scan::Number::too_large ? " is too large for " : " is not ";
        return scan::Fault{start, scan::shown(token) + problem + kind};
      }
      out.values.push_back(value);
      ++count;
      p = scan::skip_blanks(p, end);
    }
    out.per_line.push_back(count);
    if (p != end) ++p;
  }
  return {};
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

template <class T>
Numbers<T> parse_numbers(std::string_view text, const std::string& comments, const scan::Source& source) {
  const auto parts = scan::pieces(text);
  std::vector<Numbers<T>> found(parts.size());
  std::vector<std::optional<scan::Fault>> faults(parts.size());
  parallel_for(static_cast<std::int64_t>(parts.size()), [&](std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    faults[k] = parse_piece(parts[k], comments, found[k]);
  });
  for (const auto& fault : faults)
    if (fault) scan::raise(*fault, text, source);
  Numbers<T> all;
  for (const auto& part : found) append(all.values, part.values), append(all.per_line, part.per_line);
  return all;
}

template Numbers<std::int64_t> parse_numbers(std::string_view, const std::string&, const scan::Source&);
template Numbers<double> parse_numbers(std::string_view, const std::string&, const scan::Source&);

}  // namespace penstock
