#pragma once
#include "penstock/core/device.hpp"
#include "penstock/solver/multigrid/prolongate.hpp"

// Prolongators in the memory of the stream's device. All but those of smoothed_on() are scratch memory of the stream, which outlives
// them.
namespace penstock {

template <class T>
struct TentativeOn {
  Csr<T> t;
  Array<const double> coarse;  // of shape (aggregates * vectors, vectors), row-major
};

/// As tentative(); `b` is on the device.
template <class T>
TentativeOn<T> tentative_on(const Aggregates& aggregates, std::int64_t block, const Array<const double>& b,
                            std::int64_t vectors, Stream stream);

/// As smoothed(), from which it differs by rounding: a product of two matrices.
template <class T>
Csr<T> smoothed_on(const Csr<T>& a, const Csr<T>& t, const Array<const T>& inverse, double omega,
                   const Strength<T>* strong, Stream stream);

/// The vectors where none are given: ones of each row of a block, of shape (rows, block).
Array<const double> ones_on(std::int64_t rows, std::int64_t block, Stream stream);

}  // namespace penstock
