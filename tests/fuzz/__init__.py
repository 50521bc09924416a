"""Random problems against both estimators; ``python -m tests.fuzz --help`` runs many of them."""
