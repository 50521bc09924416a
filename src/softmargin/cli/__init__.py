"""The command line: `app` parses, `commands` do the work, `progress` shows that it goes on."""

from softmargin.cli.app import main

__all__ = ["main"]
