"""Deployment: fitted models as ONNX graphs, in double precision."""

from softmargin.deployment.export import to_onnx

__all__ = ["to_onnx"]
