"""Sentences, tables and pictures of a resize."""
