"""Studies of large numbers of rows."""
