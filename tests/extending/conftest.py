"""The command as a function, and a shop's table, as the tests of the command have them."""

from tests.cli.conftest import run, shop

__all__ = ["run", "shop"]
