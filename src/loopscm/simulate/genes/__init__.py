"""Simulated gene regulation: GeneNetWeaver's model, from its published equations."""
