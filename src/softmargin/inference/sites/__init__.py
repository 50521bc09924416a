"""Gaussian posteriors with one site a row: their moments, and the acceleration of iterations over the sites."""

from softmargin.inference.sites.anderson import Anderson
from softmargin.inference.sites.gaussian import (
    SiteGaussian,
    match_moments,
    site_cholesky,
    site_gaussian,
    with_positive_diagonal,
)

__all__ = ["Anderson", "SiteGaussian", "match_moments", "site_cholesky", "site_gaussian", "with_positive_diagonal"]
