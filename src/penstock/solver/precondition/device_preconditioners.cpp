#include "penstock/solver/precondition/device_preconditioners.hpp"

#include <memory>

namespace penstock {

template <class T>
DeviceM<T> device_chebyshev(const DeviceOp<T>& a, const T* inverse, const ChebyshevOptions& o,
                            Stream stream) {
  check_chebyshev(o);
  struct State {
    DeviceVectors<T> vectors;
    SumParts sums;  // its passes take no sums
  };
  auto s = std::make_shared<const State>(State{DeviceVectors<T>(a.rows, 3, a.where), SumParts(stream)});
  DeviceM<T> m;
  m.apply = [s, &a, inverse, o](const T* b, T* z, Stream stream) {
    T *r = s->vectors[0], *d = s->vectors[1], *q = s->vectors[2];
    const double middle = (o.largest + o.smallest) / 2, radius = (o.largest - o.smallest) / 2;
    const double sigma = middle / radius;
    sweep(a.rows,
          ChebyshevStart<T>{.in = {b, inverse}, .out = {r, d, z}, .scale = static_cast<T>(1 / middle)},
          s->sums, stream);
    double rho = 1 / sigma;
    for (int step = 0; step < o.degree; ++step) {
      a.apply(d, q, stream);
      const double next = 1 / (2 * sigma - rho);
      sweep(a.rows,
            ChebyshevStep<T>{.in = {r, q, d, z, inverse},
                             .out = {r, d, z},
                             .keep = static_cast<T>(next * rho),
                             .add = static_cast<T>(2 * next / radius)},
            s->sums, stream);
      rho = next;
    }
  };
  return m;
}

template DeviceM<float> device_chebyshev(const DeviceOp<float>&, const float*, const ChebyshevOptions&,
                                         Stream);
template DeviceM<double> device_chebyshev(const DeviceOp<double>&, const double*, const ChebyshevOptions&,
                                          Stream);

}  // namespace penstock
