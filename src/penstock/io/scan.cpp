#include "penstock/io/scan.hpp"

#include <algorithm>

namespace penstock::scan {

std::string shown(std::string_view token) {
  constexpr std::size_t kLongest = 40;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : token.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) out += c;
    else out += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
  }
  return "'" + out + (token.size() > kLongest ? "...'" : "'");
}

void raise(const Fault& fault, std::string_view text, const Source& source) {
  const auto line = source.first_line + std::count(text.data(), fault.at, '\n');
  throw Error(Errc::invalid_argument, source.file + ":" + std::to_string(line) + ": " + fault.what);
}

std::vector<std::string_view> pieces(std::string_view text, std::size_t bytes) {
  std::vector<std::string_view> out;
  out.reserve(text.size() / bytes + 1);
  while (!text.empty()) {
    const auto newline = text.size() > bytes ? text.find('\n', bytes) : text.npos;
    const auto length = newline == text.npos ? text.size() : newline + 1;
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace penstock::scan
