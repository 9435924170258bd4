"""Audits: how every runtime computes each resize of the models, and which resizes are likely mistakes."""
