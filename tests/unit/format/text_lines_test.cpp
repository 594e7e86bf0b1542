#include "penstock/io/text_lines.hpp"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

Text text_of(const std::string& s) { return {reinterpret_cast<const unsigned char*>(s.data()), s.size()}; }

std::string data_lines(const std::string& s) {
  std::string out(s.size(), '\0');
  const auto kept = copy_data_lines(text_of(s), "#%", reinterpret_cast<unsigned char*>(out.data()));
  return out.substr(0, static_cast<std::size_t>(kept));
}

TEST(TextLines, BlankLinesAndCommentsAreSkippedToTheFirstOther) {
  const std::string text = "\n \t\r\n# a\n  %b\n\n 1 2\n# c\n";
  const auto skipped = skip_lines(text_of(text), "#%");
  EXPECT_EQ(skipped.lines, 5);
  EXPECT_EQ(text.substr(static_cast<std::size_t>(skipped.bytes)), " 1 2\n# c\n");
  EXPECT_EQ(skip_lines(text_of("# no newline"), "#").bytes, 0);  // more of it may follow
  EXPECT_EQ(skip_lines(text_of("\n  "), "#").bytes, 1);
  EXPECT_EQ(skip_lines(text_of(""), "#").lines, 0);
  EXPECT_EQ(skip_lines(text_of("# a\n"), "").lines, 0);
}

TEST(TextLines, DataLinesAreCopiedAsTheyAre) {
  EXPECT_EQ(data_lines("1 2\n\n# a\n 3 # 4\n%\n5"), "1 2\n 3 # 4\n5");
  EXPECT_EQ(data_lines("\n \n#"), "");
  EXPECT_EQ(data_lines(""), "");
  EXPECT_EQ(data_lines("1\n2\n"), "1\n2\n");
}

TEST(TextLines, ListsAreCountedWithTheirLines) {
  const std::string text = "% c\n1  2\t3\r\n\n%\n 4\n\n5";
  const auto all = list_lines(text_of(text), "%");
  EXPECT_EQ(all.lengths, (std::vector<std::int32_t>{3, 0, 1, 0, 1}));
  EXPECT_EQ(all.lines, (std::vector<std::int32_t>{1, 2, 4, 5, 6}));
  EXPECT_EQ(all.bytes, std::ssize(text));
  const auto two = list_lines(text_of(text), "%", 2);
  EXPECT_EQ(two.lengths, (std::vector<std::int32_t>{3, 0}));
  EXPECT_EQ(text.substr(static_cast<std::size_t>(two.bytes)), "%\n 4\n\n5");
  EXPECT_EQ(list_lines(text_of(text), "%", 0).bytes, 0);
}

}  // namespace
}  // namespace penstock
