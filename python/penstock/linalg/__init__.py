"""Krylov solvers and preconditioners with the signatures of `scipy.sparse.linalg`."""

from __future__ import annotations

__all__: list[str] = []
