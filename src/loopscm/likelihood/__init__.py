"""The one Gaussian likelihood: values, derivatives, flips, divergences, penalties.

Import from the modules: `gaussian` for functions of a model, `flips` for the effect of
single changes, `penalty` and `dimension` for costs, `block` for the compiled core.
"""
