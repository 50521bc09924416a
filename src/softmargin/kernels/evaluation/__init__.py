"""Gram matrices and contracted gradients of every kernel: leaves, distances, compiled loops, blocks of rows."""
