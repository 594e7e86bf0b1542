#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace penstock {

/// Why a rank failed, for the others: what an exception says. One of Python's says its whole traceback, of which this is
/// what follows the frames: "ValueError: no luck". Messages between ranks have room for about a thousand bytes.
inline std::string reason_of(const std::exception& error) {
  const std::string_view text = error.what();
  if (!text.starts_with("Traceback (most recent call last):")) return std::string(text);
  const auto last_frame = text.rfind("\n  ");
  const auto end = text.find('\n', last_frame == text.npos ? 0 : last_frame + 1);
  const auto said = text.substr(end == text.npos ? 0 : end + 1);
  return std::string(said.substr(0, said.find_last_not_of('\n') + 1));
}

}  // namespace penstock
