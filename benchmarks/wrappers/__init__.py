"""Wrappers that public benchmarks of tabular methods can load: ScoringBench (regression) and TabArena."""
