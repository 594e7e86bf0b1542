#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "penstock/bind/gil.hpp"
#include "penstock/core/array.hpp"
#include "penstock/core/check_once.hpp"
#include "penstock/core/mapped_file.hpp"

// Between Python and arrays that others may have written, or may cut short: mapped files. Whoever reads entries asks for
// them by `any()`, which looks first; so no path from Python to a kernel goes around it.
namespace penstock::bind {

class Guard {
 public:
  /// A guard that watches only the files that these arrays are in, if any.
  template <class... T>
  static Guard of(const Array<T>&... arrays) {
    Guard g;
    (g.watch(arrays.data), ...);
    return g;
  }
  /// A check that is made once, before entries are first read.
  void set_check(std::function<void()> check) { check_ = std::make_shared<CheckOnce>(std::move(check)); }

  /// Throws where a file has been cut. With or without the interpreter's lock.
  void require_whole() const {
    for (const auto& file : files_) file->require_whole();
  }
  /// Also makes the check, for which it lets the interpreter's lock go.
  void look() const {
    require_whole();
    if (unchecked()) {
      const GilReleased release;
      check_->require();
    }
  }
  /// The same for callers that do not hold the lock.
  void look(const GilReleased&) const {
    require_whole();
    if (unchecked()) check_->require();
  }
  bool unchecked() const { return check_ && !check_->done(); }
  void settle() const {
    if (check_) check_->settle();
  }

 private:
  void watch(const void* data) {
    if (auto file = MappedFile::behind(data)) files_.push_back(std::move(file));
  }
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::shared_ptr<CheckOnce> check_;  // shared by copies of one matrix
};

/// A variant of matrices, and the checks before its entries are read.
template <class Any>
class Guarded {
 public:
  /// For reading entries, after the check. Needs the interpreter's lock, or `release`, which says that it has been let go.
  const Any& any() const { return guard_.look(), any_; }
  const Any& any(const GilReleased& r) const { return guard_.look(r), any_; }
  /// For shapes, sizes and places, which are right in any case.
  const Any& unread() const { return any_; }
  const Guard& guard() const { return guard_; }

 protected:
  Guarded(Any any, Guard guard) : any_(std::move(any)), guard_(std::move(guard)) {}
  Any any_;
  Guard guard_;
};

}  // namespace penstock::bind
