"""The most probable latent values by Newton's method, and the curvature at a kink on which they lie."""

from softmargin.inference.modes.kinked_curvature import KinkedCurvature, kinked_curvature
from softmargin.inference.modes.kinked_newton import kinked_newton_map
from softmargin.inference.modes.newton import newton_map

__all__ = ["KinkedCurvature", "kinked_curvature", "kinked_newton_map", "newton_map"]
