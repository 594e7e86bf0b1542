#include "penstock/io/text_lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock {
namespace {

class Lines {
 public:
  Lines(Text text, std::string_view comments) : text_(text) {
    for (const char c : comments) comment_[static_cast<unsigned char>(c)] = true;
  }

  static bool is_blank(unsigned char c) { return c == ' ' || c == '\t' || c == '\r'; }
  bool is_comment(std::int64_t at) const { return at < size() && comment_[byte(at)]; }
  unsigned char byte(std::int64_t at) const { return text_[static_cast<std::size_t>(at)]; }
  std::int64_t size() const { return std::ssize(text_); }

  /// Where the first byte at `at` or later is that is no blank, or the size of the text.
  std::int64_t word(std::int64_t at) const {
    while (at < size() && is_blank(byte(at))) ++at;
    return at;
  }
  /// The place behind the newline that ends the line of byte `at`, or the size of the text.
  std::int64_t next(std::int64_t at) const {
    if (at >= size()) return size();
    const auto* found = std::memchr(text_.data() + at, '\n', static_cast<std::size_t>(size() - at));
    return found ? static_cast<const unsigned char*>(found) - text_.data() + 1 : size();
  }
  /// Where the first word of the line that begins at `at` is; -1 if the line is blank or a comment.
  std::int64_t data(std::int64_t at) const {
    const auto first = word(at);
    return first == size() || byte(first) == '\n' || comment_[byte(first)] ? -1 : first;
  }

 private:
  Text text_;
  std::array<bool, 256> comment_{};
};

}  // namespace

SkippedLines skip_lines(Text text, std::string_view comments) {
  const Lines lines(text, comments);
  SkippedLines skipped;
  for (std::int64_t at = 0; at < lines.size() && lines.data(at) < 0;) {
    const auto end = lines.next(at);
    if (lines.byte(end - 1) != '\n') break;  // more of it may follow
    at = skipped.bytes = end, ++skipped.lines;
  }
  return skipped;
}

std::int64_t copy_data_lines(Text text, std::string_view comments, unsigned char* out) {
  const Lines lines(text, comments);
  std::int64_t kept = 0, from = 0;  // lines that follow one another are copied at once
  const auto flush = [&](std::int64_t to) {
    if (to > from)
      std::memmove(out + kept, text.data() + from, static_cast<std::size_t>(to - from)), kept += to - from;
  };
  for (std::int64_t at = 0; at < lines.size();) {
    const auto first = lines.data(at), end = lines.next(first < 0 ? at : first);
    if (first < 0) flush(at), from = end;
    at = end;
  }
  flush(lines.size());
  return kept;
}

ListLines list_lines(Text text, std::string_view comments, std::int64_t most) {
  const Lines lines(text, comments);
  ListLines found;
  std::int32_t line = 0;
  for (std::int64_t at = 0; at < lines.size() && std::ssize(found.lengths) < most; ++line) {
    auto k = lines.word(at);
    if (lines.is_comment(k)) {
      at = lines.next(k);
      continue;
    }
    std::int32_t words = 0;
    while (k < lines.size() && lines.byte(k) != '\n') {
      ++words;
      while (k < lines.size() && lines.byte(k) != '\n' && !Lines::is_blank(lines.byte(k))) ++k;
      k = lines.word(k);
    }
    at = found.bytes = std::min(k + 1, lines.size());
    found.lengths.push_back(words), found.lines.push_back(line);
  }
  return found;
}

}  // namespace penstock
