"""Gaussian integrals of sigmoid(C r(z)), the normalised likelihoods of class labels, by compiled quadrature."""
