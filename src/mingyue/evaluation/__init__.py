"""How good a model is: ``loss`` on text it has not seen."""
