"""A search that finds structure: the score test of other length scales, the climbs it recommends, restarts."""

from softmargin.tuning.structure.restarts import restart_points
from softmargin.tuning.structure.score_test import ScoreTest
from softmargin.tuning.structure.search import LengthScales, StructureSearch, finds_structure, is_doubtful

__all__ = ["LengthScales", "ScoreTest", "StructureSearch", "finds_structure", "is_doubtful", "restart_points"]
