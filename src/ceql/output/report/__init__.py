"""A fitted model as one HTML page that needs nothing else: no network, no plotting library.

``chart`` draws what is seen without scripts, ``caveats`` and ``reproduce`` find the words and ``page`` puts the parts
together; ``card`` is the small one of a notebook. What answers to a reader is in ``ceql.output.web``.
"""
