"""ONNX models rewritten for a target: only the resizes change.

``targets`` declares what each target computes. ``portable_resize`` decides one resize: kept, rewritten or decomposed.
``portable_model`` rewrites a whole model, with ``operator_sets`` for its other nodes when the operator set changes.
"""
