#pragma once
#include <string>

#include "penstock/dist/product/staged_product.hpp"
#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"
#include "penstock/solver/solve.hpp"

// Solves on the ranks' devices with vectors that are anywhere: all that a method works on is copied to the device first. The
// methods themselves are in dist_solve_gpu.hpp.
namespace penstock {

/// M of a staged solve: nothing of it is set for the identity.
template <class T>
struct StagedM {
  const T* diagonal = nullptr;               // M is this diagonal matrix, or the polynomial in it
  ChebyshevOptions polynomial{.degree = 0};  // of degree 0: there is none
  const DeviceForm<T>* form = nullptr;       // else M is this operator
};

/// A x = b by the method of that name; b, x and the diagonal have the rows that this rank owns. A callback finds the x of its
/// iteration in x. Throws what dist_solve_gpu throws. Collective.
template <class T, class V>
SolveResult staged_solve(StagedProduct<V>& a, const std::string& method, const T* b, T* x,
                         const StagedM<T>& m, SolveOptions options);

/// The types of vectors and of matrices that it is compiled for: vectors hold the matrix's values.
#define PENSTOCK_FOR_EACH_STAGED_SOLVE(X) \
  X(float, One)                           \
  X(double, One)                          \
  X(float, float)                         \
  X(double, float)                        \
  X(double, double)

/// z = M r, `times` times. Collective.
template <class T, class V>
void staged_apply(StagedProduct<V>& a, const DeviceForm<T>& m, const T* r, T* z, int times = 1);

/// Copies what M consists of to the stream's device, where it has room for M and `spare` bytes more. "", or why it has not.
template <class T>
std::string keep_on_device(const DeviceForm<T>& m, Stream stream, std::int64_t spare);

}  // namespace penstock
