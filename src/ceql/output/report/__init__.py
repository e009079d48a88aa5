"""A fitted model as one HTML page that needs nothing else: no network, no plotting library.

``chart`` draws what is visible without scripts, ``caveats`` and ``reproduce`` write the text, and ``page`` puts the
parts together; ``card`` is the small version for a notebook. The interactive parts are in ``ceql.output.web``.
"""
