"""The Gaussian integrals behind the likelihoods: closed forms, quadrature and the ratios that keep their digits."""
