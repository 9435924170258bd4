"""Models run in their own runtimes, and compared.

How a model runs: ``graphs``, ``input_shapes`` and ``inputs`` decide on what, ``run_request`` and ``runners`` are the
child's side, ``processes`` the parent's; ``trials`` is the search for inputs on which both run. How outputs compare:
``tolerances`` first, then ``ladder``, which names the comparisons in ``model_outputs``, ``quantisations`` and
``segments``; ``task_metrics`` counts what a difference changes for a task. Last, ``conversion`` compares a source and
its result, ``model_pairs`` any two models, or a model and one of the ``references``.
"""
