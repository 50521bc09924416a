"""How results become tables and pictures; one file for each command."""
