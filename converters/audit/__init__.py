"""Audits: how every runtime computes each resize of the models, and which resizes are likely mistakes.

Read ``verdicts`` and ``audited_resizes`` for the records, ``mistakes`` for the checks, ``auditing`` for one file and
many, and ``audit_report`` for the whole and its formats. ``constant_sizes`` follows other input sizes through models;
``saturation`` and ``preprocessing`` find what single resizes do not show. ``probe`` runs resizes in installed runtimes,
``framework_exporters`` in exporters of other frameworks. ``baseline`` accepts findings.
"""
