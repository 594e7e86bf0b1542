#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

// Skips lines of text that hold nothing, at the speed of memory, because files may consist of them. A line is blank if it has
// only blanks, tabs and carriage returns, and a comment if the first other byte is one of `comments`.
namespace penstock {

using Text = std::span<const unsigned char>;

struct SkippedLines {
  std::int64_t bytes = 0, lines = 0;
};

/// How many of the first lines of `text` are blank or comments, and where they end. Each of them has its newline.
SkippedLines skip_lines(Text text, std::string_view comments);

/// Copies the lines that are neither blank nor comments to `out`, which has room for all of `text` and may be the same memory.
/// Returns how many bytes were copied.
std::int64_t copy_data_lines(Text text, std::string_view comments, unsigned char* out);

/// Lines that are lists of words. For each line that is no comment: how many words it has, and its number in the text, from 0.
struct ListLines {
  std::vector<std::int32_t> lengths, lines;
  std::int64_t bytes = 0;  // of the text that was looked at: up to the end of the last list
};

/// Finds at most `most` lists. The last line may lack its newline.
ListLines list_lines(Text text, std::string_view comments,
                     std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace penstock
