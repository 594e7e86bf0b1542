#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "penstock/core/error.hpp"

// Characters to numbers, strictly: a token is a number from its first to its last character or it is refused. The
// digits are read by the standard library's from_chars, which is correctly rounded and knows no locale.
namespace penstock::scan {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

/// Past the token at p: to a blank, a newline or `separator` (0: none).
inline const char* token_end(const char* p, const char* end, char separator) {
  while (p != end && !is_blank(*p) && *p != '\n' && (separator == 0 || *p != separator)) ++p;
  return p;
}

inline std::string_view unquoted(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') return token.substr(1, token.size() - 2);
  return token;
}

enum class Number { fine, not_a_number, too_large };

inline Number integer(std::string_view token, std::int64_t& out) {
  if (!token.empty() && token.front() == '+') {
    token.remove_prefix(1);
    if (!token.empty() && token.front() == '-') return Number::not_a_number;
  }
  const auto [p, error] = std::from_chars(token.data(), token.data() + token.size(), out);
  if (error == std::errc::result_out_of_range) return Number::too_large;
  return error == std::errc() && p == token.data() + token.size() ? Number::fine : Number::not_a_number;
}

/// nan, inf and infinity count as numbers. What is too small becomes 0 or a denormal; what is too large is refused.
inline Number real(std::string_view token, double& out) {
  if (!token.empty() && token.front() == '+') {
    token.remove_prefix(1);
    if (!token.empty() && token.front() == '-') return Number::not_a_number;
  }
  const char* last = token.data() + token.size();
  const auto [p, error] = std::from_chars(token.data(), last, out);
  if (error == std::errc() && p == last) return Number::fine;
  if (error == std::errc::result_out_of_range && p == last) {
    // An overflow and an underflow look alike here: the sign of the exponent tells them apart.
    const auto e = token.find_first_of("eE");
    const bool tiny = e != token.npos ? token.substr(e + 1).starts_with('-') : token.find_first_of("123456789") > token.find('.');
    out = token.starts_with('-') ? -0.0 : 0.0;
    return tiny ? Number::fine : Number::too_large;
  }
  const auto d = token.find_first_of("dD");  // Fortran's exponent letter
  if (d == token.npos || d == 0 || token.size() > 64 || token.find_first_of("eEnN") != token.npos) return Number::not_a_number;
  std::string copy(token);
  copy[d] = 'e';
  return copy.find_first_of("dD") == copy.npos ? real(copy, out) : Number::not_a_number;
}

/// A token as an error message can show it: printable, at most 40 characters.
std::string shown(std::string_view token);

/// What is wrong with a block of text, and where.
struct Fault {
  const char* at;
  std::string what;
};

/// Where a block of text comes from, for messages: the file and the number of the block's first line.
struct Source {
  std::string file;
  std::int64_t first_line = 1;
};

[[noreturn]] void raise(const Fault& fault, std::string_view text, const Source& source);

/// Cuts text at newlines into pieces of about `bytes`.
std::vector<std::string_view> pieces(std::string_view text, std::size_t bytes = 1 << 18);

}  // namespace penstock::scan
