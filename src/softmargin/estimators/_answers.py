"""What a fitted estimator says when it is asked: which inputs matter. Nothing here is computed in `fit`."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softmargin._linalg import Array


class AnswersMixin:
    """Attributes of both estimators that are computed when they are first asked for."""

    _fit: Any

    @property
    def importance_(self) -> Array:
        """How much the prediction changes along each input, shape (n_features,); sums to 1."""
        check_is_fitted(self)
        found: Array | None = self._fit.importance
        if found is None:
            raise AttributeError("importance_ is that of inputs; a precomputed kernel has kernel values only")
        return np.array(found)
