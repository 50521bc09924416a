"""The command line: `arguments` parses, `commands` do the work, `progress` shows that it goes on."""

from softmargin.cli.arguments import app, main

__all__ = ["app", "main"]
