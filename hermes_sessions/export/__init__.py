"""Conversations as documents: one module for each format."""
