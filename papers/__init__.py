"""One script for each paper: its figures and tables, and its claims beside what we measure."""
