"""Reports as pages of HTML, on one frame.

``frame`` has what all pages share; ``gallery`` shows a resize that differs. ``audit_page`` is an audit,
``conversion_and_comparison_pages`` two models: a source and its result, or any two.
"""
