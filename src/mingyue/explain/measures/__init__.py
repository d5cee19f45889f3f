"""What exhibits compute with; each is named in the imports of the exhibit that uses it.

- texts to measure on  ``sample``, ``contexts``
- heads  ``head_looks`` with ``jobs``, ``head_harm``, ``head_costs``, ``cards``, ``by_hand``
- scores and their softmax  ``sharpness``
- vectors  ``neighbours``
- neurons and predictions  ``neurons``, ``reactions``, ``unembed``, ``attribution``, ``patching``
- small models trained on the spot  ``rehearsal``, and with it ``unscaled``, ``beyond``
- beside other models  ``other_run``, ``company`` (Word2Vec), ``reach``, ``racing``, ``price`` and
  ``turns`` (RNN)
- a run as it learned  ``history``
- the code at work  ``walk``
"""
