"""Small gate problems, and the exact objective by brute force in PyTorch."""

from __future__ import annotations

import numpy as np

from loopscm import GaussianStats
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem


def problem_and_parameters(p, slots, seed, *, scale=0.6, n=200, floor=1e-6):
    """A random problem with gate probabilities spread over (0.1, 0.9)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)))
    stats = GaussianStats.from_data(X, center=False)
    W = scale * rng.standard_normal((p, p))
    np.fill_diagonal(W, 0.0)
    logits = (
        rng.uniform(-2, 2, (p, p)),
        rng.uniform(-2, 2, (slots, p)),
        rng.uniform(-2, 2, slots),
    )
    Gamma, noise = rng.standard_normal((slots, p)), rng.uniform(-0.5, 1.5, p)
    problem = Problem.of(stats, standardised=False, noise_floor=floor)
    return stats, problem, GateParameters.of(W, Gamma, noise, logits)


def masked(parameters, problem, gates):
    """(B, effective loadings, variances) of gate values."""
    M, H, Z = parameters.shape.split(gates)
    loadings = np.sqrt(Z)[:, None] * H * parameters.Gamma
    return M.T * parameters.W, loadings, parameters.omega(problem.floor)


def torch_parts(torch, parameters, problem):
    """Leaf tensors (W, Γ, d, α, β, γ) and the noise variances."""
    shape = parameters.shape
    alpha, beta, gamma = shape.split(parameters.logits)
    arrays = (parameters.W, parameters.Gamma, parameters.noise, alpha.T, beta, gamma)
    leaves = [torch.tensor(np.array(x), requires_grad=True) for x in arrays]
    omega = torch.tensor(np.array(problem.floor)) + torch.nn.functional.softplus(leaves[2])
    return leaves, omega


def torch_likelihood(torch, S, A, psi):
    """f of batches of A and Ψ, by determinants and a linear solve."""
    R = A.transpose(-1, -2) @ torch.tensor(np.array(S)) @ A
    trace = torch.diagonal(torch.linalg.solve(psi, R), dim1=-2, dim2=-1).sum(-1)
    return -torch.linalg.slogdet(A)[1] + 0.5 * (torch.linalg.slogdet(psi)[1] + trace)


def torch_penalty(torch, leaves):
    """E[c] in closed form."""
    q, r, pi = (torch.sigmoid(leaf) for leaf in leaves[3:])
    off = 1.0 - torch.eye(len(q), dtype=q.dtype)
    return (q * off).sum() + (pi * (1 + r.sum(1))).sum()


def flat_gradient(leaves, shape):
    """The gradients of the leaves in the order of the flat vector."""
    W, Gamma, noise, alpha, beta, gamma = (
        np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves
    )
    np.fill_diagonal(W, 0.0)
    np.fill_diagonal(alpha, 0.0)
    return np.concatenate([part.ravel() for part in (W.T, Gamma, noise, alpha.T, beta, gamma)])


def bits(count):
    """All binary vectors of a length, one a row."""
    return ((np.arange(2**count)[:, None] >> np.arange(count)) & 1).astype(float)


def exact_by_torch(torch, problem, parameters):
    """(value, flat gradient) of the exact objective; every configuration, autograd."""
    p, slots = parameters.shape.p, parameters.shape.slots
    leaves, omega = torch_parts(torch, parameters, problem)
    W, Gamma = leaves[:2]
    off = ~np.eye(p, dtype=bool)
    M = np.zeros((2 ** (p * p - p), p, p))
    M[:, off] = bits(p * p - p)
    HZ = bits(slots * p + slots)
    H, Z = HZ[:, : slots * p].reshape(len(HZ), slots, p), HZ[:, slots * p :]
    M, H, Z = (torch.tensor(x) for x in (M, H, Z))
    A = torch.eye(p, dtype=M.dtype) - M * W
    rows = H * Gamma * Z[:, :, None]
    psi = torch.diag(omega) + rows.transpose(1, 2) @ rows
    R = A.transpose(1, 2) @ torch.tensor(np.array(problem.S)) @ A
    traces = R.reshape(len(M), -1) @ torch.linalg.inv(psi).reshape(len(psi), -1).T
    f = 0.5 * traces - torch.linalg.slogdet(A)[1][:, None] + 0.5 * torch.linalg.slogdet(psi)[1]
    q, r, pi = (torch.sigmoid(leaf) for leaf in leaves[3:])
    weights_M = torch.where(M[:, off] > 0, q[off], 1 - q[off]).prod(1)
    weights_H = torch.where(H > 0, r, 1 - r).prod(2).prod(1)
    weights_Z = torch.where(Z > 0, pi, 1 - pi).prod(1)
    mean = weights_M @ f @ (weights_H * weights_Z)
    value = problem.n * mean + problem.weight * torch_penalty(torch, leaves)
    value.backward()
    return float(value.detach()), flat_gradient(leaves, parameters.shape)
