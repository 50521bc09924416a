"""What a likelihood has without saying so."""

from softmargin._parts import Part


class LikelihoodDefaults(Part):
    """A likelihood's base class: a part whose parameters scikit-learn can read and set."""
