"""Reports as pages of HTML: one module a report, on one frame."""
