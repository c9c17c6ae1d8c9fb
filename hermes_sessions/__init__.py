"""The conversations of Hermes Agent on the command line."""

__version__ = "0.1.0"
