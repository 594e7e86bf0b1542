"""Functions of every entry that keep 0 as it is: SciPy's list, over the core's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._matrix.arithmetic import is_number
from penstock._matrix.names import Guarded
from penstock._matrix.through_scipy import as_scipy, back, view, with_values

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Entrywise"]

# Functions of NumPy that are methods here: np.sin(A) is A.sin().
_METHODS = {
    *("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "rint", "sign"),
    *("expm1", "log1p", "deg2rad", "rad2deg", "floor", "ceil", "trunc", "sqrt"),
}
# Functions of NumPy that keep 0, and have no method.
_FUNCTIONS = {"square": np.square, "cbrt": np.cbrt, "fabs": np.fabs}
_OPERATORS = {
    "absolute": "__abs__",
    "negative": "__neg__",
    "conjugate": "conj",
    "add": "__add__",
    "subtract": "__sub__",
    "multiply": "__mul__",
    "divide": "__truediv__",
    "true_divide": "__truediv__",
    "matmul": "__matmul__",
    "power": "__pow__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "less": "__lt__",
    "less_equal": "__le__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
    "maximum": "maximum",
    "minimum": "minimum",
}
# What A answers where NumPy asks op(x, A).
_REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "matmul": "__rmatmul__",
    "divide": "__rtruediv__",
    "true_divide": "__rtruediv__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "maximum": "maximum",
    "minimum": "minimum",
}


class Entrywise(Guarded):
    """The methods of csr_array that take each entry by itself, duplicates added up first. A pattern counts as ones."""

    def _each(self, function: Callable[[np.ndarray], np.ndarray]) -> csr_array:
        """A transpose answers with the transpose of what its matrix makes."""
        stored, turned = self._stored()
        a = stored.without_duplicates()
        data = a.data.astype(np.float64) if a.dtype == np.bool_ else a.data
        made = with_values(a, function(data))
        return made.T if turned else made  # type: ignore[return-value]

    def __abs__(self) -> csr_array:
        """Of every entry, duplicates added up first, as in SciPy; a complex matrix becomes a real one."""
        return self if self._stored()[0].dtype == np.bool_ else self._each(np.abs)  # type: ignore[return-value]

    def __round__(self, ndigits: int = 0) -> csr_array:
        return self._each(lambda data: np.around(data, ndigits))

    def sin(self) -> csr_array:
        """The sine of every entry."""
        return self._each(np.sin)

    def tan(self) -> csr_array:
        """The tangent of every entry."""
        return self._each(np.tan)

    def arcsin(self) -> csr_array:
        """The inverse sine of every entry."""
        return self._each(np.arcsin)

    def arctan(self) -> csr_array:
        """The inverse tangent of every entry."""
        return self._each(np.arctan)

    def sinh(self) -> csr_array:
        """The hyperbolic sine of every entry."""
        return self._each(np.sinh)

    def tanh(self) -> csr_array:
        """The hyperbolic tangent of every entry."""
        return self._each(np.tanh)

    def arcsinh(self) -> csr_array:
        """The inverse hyperbolic sine of every entry."""
        return self._each(np.arcsinh)

    def arctanh(self) -> csr_array:
        """The inverse hyperbolic tangent of every entry."""
        return self._each(np.arctanh)

    def rint(self) -> csr_array:
        """Every entry rounded to the nearest integer, halves to even ones."""
        return self._each(np.rint)

    def sign(self) -> csr_array:
        """-1, 0 or 1 for every entry."""
        return self._each(np.sign)

    def expm1(self) -> csr_array:
        """exp(x) - 1 of every entry."""
        return self._each(np.expm1)

    def log1p(self) -> csr_array:
        """log(1 + x) of every entry."""
        return self._each(np.log1p)

    def deg2rad(self) -> csr_array:
        """Every entry from degrees to radians."""
        return self._each(np.deg2rad)

    def rad2deg(self) -> csr_array:
        """Every entry from radians to degrees."""
        return self._each(np.rad2deg)

    def floor(self) -> csr_array:
        """The largest integer that is not above, for every entry."""
        return self._each(np.floor)

    def ceil(self) -> csr_array:
        """The smallest integer that is not below, for every entry."""
        return self._each(np.ceil)

    def trunc(self) -> csr_array:
        """Every entry without its fraction."""
        return self._each(np.trunc)

    def sqrt(self) -> csr_array:
        """The square root of every entry."""
        return self._each(np.sqrt)

    # Complex numbers

    @property
    def real(self) -> csr_array:
        """The real parts; a real matrix as it is."""
        return self._each(_real) if self._complex() else self  # type: ignore[return-value]

    @property
    def imag(self) -> csr_array:
        """The imaginary parts; of a real matrix zeros, of which none is stored."""
        if self._complex():
            return self._each(_imag)
        a = self._matrix()
        return type(a)(a.shape, dtype=a.dtype)

    def conj(self, copy: bool = True) -> csr_array:
        """The complex conjugate; a real matrix as it is (it never changes, and `copy` says nothing)."""
        return self._each(np.conj) if self._complex() else self  # type: ignore[return-value]

    conjugate = conj

    def _complex(self) -> bool:
        return self._stored()[0].dtype.kind == "c"

    # With another one

    def _chosen(self, name: str, B: Any) -> Any:
        a = self._matrix()
        if is_number(B):
            b = B[()] if isinstance(B, np.ndarray) else B  # a Python number has A's type
            if getattr(np, name)(b, a.dtype.type(0)) != 0:
                raise TypeError(
                    f"A.{name}({B}) is {B} wherever no entry is stored: use np.{name}(A.data, {B}) for the stored "
                    f"ones, or np.{name}(A.toarray(), {B})"
                )
            return back(type(a), getattr(view(a.without_duplicates()), name)(b))
        if hasattr(B, "tocsr"):
            return back(type(a), getattr(view(a.without_duplicates()), name)(as_scipy(B)))
        return getattr(np, name)(a.toarray(), np.asarray(B))

    def maximum(self, other: Any) -> Any:
        """The larger of two entries, what is not stored counting as 0: of a sparse matrix of the same shape or a number
        that is not above 0 a csr_array, of a dense array a dense array."""
        return self._chosen("maximum", other)

    def minimum(self, other: Any) -> Any:
        """The smaller of two entries, as `maximum`; of a number that is not below 0."""
        return self._chosen("minimum", other)

    # NumPy's functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        """np.sin(A), x + A, np.float64(2) * A and the like, by the method of that name."""
        name, out = ufunc.__name__, how.pop("out", (None,))[0]
        if name == "matmul" and out is not None:
            how.pop("axes", None)  # y @= A says which axes y has
        found, first = None, inputs[0]
        if method == "__call__" and not how:
            if len(inputs) == 1:
                if name in _FUNCTIONS and out is None:
                    return first._each(_FUNCTIONS[name])
                found = name if name in _METHODS else _OPERATORS.get(name)
            elif isinstance(inputs[0], Entrywise):
                found = _OPERATORS.get(name)
            else:
                inputs, found = inputs[::-1], _REFLECTED.get(name)
        if found is None:
            raise TypeError(_refusal(name, method, len(inputs) > 1, how))
        result = getattr(inputs[0], found)(*inputs[1:])
        if out is None:
            return result
        fits = isinstance(result, np.ndarray) and result.shape == np.shape(out)
        if fits and np.can_cast(result.dtype, out.dtype, "same_kind"):
            out[...] = result
            return out
        if out is not first:  # else it was x += A, and x becomes another array
            raise ValueError(
                f"np.{name}(out=...): out has shape {np.shape(out)}, the result is {type(result).__name__} of shape "
                f"{result.shape} and dtype {result.dtype}"
            )
        return result


def _refusal(name: str, method: str, two: bool, how: dict[str, Any]) -> str:
    call = name if method == "__call__" else f"{name}.{method}"
    if method == "__call__" and how and (name in _METHODS or name in _OPERATORS):
        given = ", ".join(f"{key}=" for key in how)
        return f"np.{name}(A, {given}...): of a sparse array it takes no option, use np.{name}(A.data, {given}...)"
    what = "unsupported operand: " if two and method == "__call__" else ""
    return (
        f"{what}np.{call} of a sparse array is dense, or has no meaning: use np.{call}(A.data) for the stored "
        f"entries, or np.{call}(A.toarray())"
    )


def _real(data: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(data.real)


def _imag(data: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(data.imag)
