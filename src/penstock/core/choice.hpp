#pragma once
#include <string>
#include <string_view>

namespace penstock {

/// A name that an argument may have, and what it stands for in a few words. A table of these is the one list of that choice:
/// checks, messages, bindings and help texts read it.
struct Choice {
  std::string_view name, text;
};

/// "first, a, b, c": the names of a table, as a message lists them. `first` is what stands for no choice ("auto"), or empty.
template <class Rows>
std::string list_names(const Rows& rows, std::string_view first = {}) {
  std::string out(first);
  for (const auto& row : rows) {
    if (!out.empty()) out += ", ";
    out += row.name;
  }
  return out;
}

}  // namespace penstock
