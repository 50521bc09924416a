"""Studies of one part each: a criterion, the solver, the samplers, a claim of a paper. Each keeps its tables."""
