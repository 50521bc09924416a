"""One command from a table to a tuned model and a page to look at."""
