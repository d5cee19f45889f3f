"""How good a model is: ``loss`` on text it has not seen; ``verse``, ``variety`` and ``novelty`` of
what it writes."""
