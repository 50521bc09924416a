"""The evidence: naive, conditional and joint; by EP, Laplace, chaining, annealing, or exactly for a few rows."""

from softmargin.evidence._estimate import EvidenceEstimate, EvidenceGradient
from softmargin.evidence._evaluate import KINDS, METHODS, log_evidence
from softmargin.evidence.chaining import Chaining, chain
from softmargin.evidence.gradients import naive_evidence, normaliser
from softmargin.evidence.input_weights import InputWeights, input_weights
from softmargin.sampling import Schedule

__all__ = [
    "KINDS",
    "METHODS",
    "Chaining",
    "EvidenceEstimate",
    "EvidenceGradient",
    "InputWeights",
    "Schedule",
    "chain",
    "input_weights",
    "log_evidence",
    "naive_evidence",
    "normaliser",
]
