"""The likelihood of a whole graph as the sum over its blocks, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import entry, kernel
from loopscm.likelihood.block import Block, evaluate, gradient, hessian
from loopscm.likelihood.layout import Layout


class Tables(NamedTuple):
    """The index tables of a `Layout`, in the form compiled code takes."""

    kind: np.ndarray
    local_row: np.ndarray
    local_head: np.ndarray
    par_ptr: np.ndarray
    nodes: np.ndarray
    node_ptr: np.ndarray
    n_heads: np.ndarray
    n_latents: np.ndarray


def tables_of(layout: Layout) -> Tables:
    """The index tables of a layout."""
    return Tables(*(getattr(layout, field) for field in Tables._fields))


@kernel
def take_block(tables: Tables, S: np.ndarray, inverse: np.ndarray, b: int) -> Block:
    """Block b with its share of S and, for the reverse divergence, of S⁻¹, else empty.

    The reverse divergence is a sum over blocks only if there are no edges between them.
    """
    nodes = tables.nodes[tables.node_ptr[b] : tables.node_ptr[b + 1]]
    first, last = tables.par_ptr[b], tables.par_ptr[b + 1]
    size = nodes.shape[0]
    part = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            part[i, j] = S[nodes[i], nodes[j]]
    heads = tables.n_heads[b] if inverse.shape[0] > 0 else 0
    inverse_part = np.empty((heads, heads))
    for i in range(heads):
        for j in range(heads):
            inverse_part[i, j] = inverse[nodes[i], nodes[j]]
    return Block(
        part,
        inverse_part,
        tables.n_heads[b],
        tables.n_latents[b],
        tables.kind[first:last],
        tables.local_row[first:last],
        tables.local_head[first:last],
    )


@entry
def block_values(
    tables: Tables, S: np.ndarray, inverse: np.ndarray, theta: np.ndarray, weights: tuple
) -> np.ndarray:
    """The weighted objective of every block; infinite where A or Ψ is singular."""
    count = tables.n_heads.shape[0]
    values = np.empty(count)
    for b in range(count):
        block = take_block(tables, S, inverse, b)
        part = theta[tables.par_ptr[b] : tables.par_ptr[b + 1]]
        point = evaluate(block, part, weights[0], weights[1])
        values[b] = point.value if point.feasible else np.inf
    return values


@entry
def full_gradient(
    tables: Tables, S: np.ndarray, inverse: np.ndarray, theta: np.ndarray, weights: tuple
) -> np.ndarray:
    """Gradient of the weighted objective in all natural parameters."""
    result = np.empty(theta.shape[0])
    for b in range(tables.n_heads.shape[0]):
        first, last = tables.par_ptr[b], tables.par_ptr[b + 1]
        block = take_block(tables, S, inverse, b)
        point = evaluate(block, theta[first:last], weights[0], weights[1])
        result[first:last] = gradient(block, point, weights[0], weights[1])
    return result


@entry
def full_hessian(
    tables: Tables, S: np.ndarray, inverse: np.ndarray, theta: np.ndarray, weights: tuple
) -> np.ndarray:
    """Hessian of the weighted objective; block diagonal."""
    result = np.zeros((theta.shape[0], theta.shape[0]))
    for b in range(tables.n_heads.shape[0]):
        first, last = tables.par_ptr[b], tables.par_ptr[b + 1]
        block = take_block(tables, S, inverse, b)
        point = evaluate(block, theta[first:last], weights[0], weights[1])
        result[first:last, first:last] = hessian(block, point, weights[0], weights[1])
    return result
