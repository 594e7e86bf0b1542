#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/dist/share/dist_csr.hpp"

// Matrices whose rows and columns have numbers of 64 bits, out of entries that ranks have in any order.
namespace penstock {

/// An entry with the numbers of the whole matrix; of a pattern 16 bytes.
template <class V>
struct Coordinate {
  GlobalIndex row, column;
  [[no_unique_address]] V value;
};

static_assert(sizeof(Coordinate<One>) == 16 && sizeof(Coordinate<double>) == 24);

enum class RowCuts { contiguous, balanced };  // equal ranges of numbers; ranges of about equally many entries
enum class Numbering {
  all,    // a rank holds every number of its range
  listed  // only numbers with entries: of rows and of columns, and of either kind where the matrix is square
};
enum class Duplicates { sum, one };  // what becomes of entries in one place; `one` has the least bits

/// A matrix of which each rank gives some entries, in any order; it is shared out by ranges of rows. Entries in one place add up
/// in the order of their bits, so that the matrix is the same however its entries were given; rows are sorted. A square
/// matrix has the owners of its rows for its columns too, any other one equal ranges of columns. Numbers have been checked to be in
/// the matrix. At its height it needs the entries that a rank gives and those that it gets, as Coordinates, and then those
/// that it gets and the matrix. Throws Error{invalid_argument} where a rank would hold more than 2^31 - 1 rows or columns.
/// Collective.
template <class V>
DistCsr<V> from_coordinates(std::shared_ptr<Comm> comm, GlobalIndex rows, GlobalIndex cols,
                            std::vector<Coordinate<V>> entries, RowCuts cuts, Numbering numbering,
                            Duplicates duplicates = Duplicates::sum);

/// The same for owners that are known, which list the numbers of all entries. Here equal places stay apart.
template <class V>
DistCsr<V> from_coordinates(std::shared_ptr<Comm> comm, std::shared_ptr<const Ownership> rows,
                            std::shared_ptr<const Ownership> cols, std::vector<Coordinate<V>> entries);

}  // namespace penstock
