"""Compiled kernels of the gate learners, batched over samples.

They are a second implementation of the likelihood, on purpose: an update evaluates hundreds
of dense masks that share S, W and Γ and differ in few entries, where building index tables
for each mask (as `likelihood.block` needs them) would cost more than the evaluation. The
tests compare every number with `likelihood.gaussian`.
"""
