"""BayesianSVC and BayesianSVR for TabArena (Erickson et al. 2025, arXiv:2506.16791), as a model of AutoGluon.

TabArena runs models that derive from AutoGluon's ``AbstractModel``: ``_preprocess`` turns a data frame into what the
model takes, ``_fit`` sets ``self.model``, and predictions are asked of that. `experiments` gives the default
configuration in the form that ``run_experiments_new`` takes. Where AutoGluon is not installed, `make_model` still gives
the estimator and `make_encoder` the coding, which are all that the class adds to it.
"""

from typing import Any

from benchmarks.wrappers._inputs import as_frame, make_encoder
from softmargin import BayesianSVC, BayesianSVR

try:
    from autogluon.core.models import AbstractModel
except ImportError:
    AbstractModel = object


def make_model(problem_type: str, **settings: Any) -> Any:
    """The estimator for AutoGluon's names "binary", "multiclass" and "regression"."""
    made = {"binary": BayesianSVC, "multiclass": BayesianSVC, "regression": BayesianSVR}
    if problem_type not in made:
        raise ValueError(f"problem_type={problem_type!r} is unknown; use one of {', '.join(made)}")
    return made[problem_type](**settings)


class SoftmarginModel(AbstractModel):  # type: ignore[misc]
    """Support vector machines that tune themselves, with their defaults."""

    ag_key = "SOFTMARGIN"
    ag_name = "Softmargin"

    def _preprocess(self, X: Any, is_train: bool = False, **kwargs: Any) -> Any:
        """Numbers; the coding is learnt on the training rows."""
        frame = as_frame(super()._preprocess(X, **kwargs))
        if is_train:
            self._encoder = make_encoder().fit(frame)
        return self._encoder.transform(frame)

    def _fit(self, X: Any, y: Any, num_cpus: int = 1, **kwargs: Any) -> None:
        """Fit on all rows; neither validation rows nor a time limit are used."""
        coded = self.preprocess(X, is_train=True)
        self.model = make_model(self.problem_type, **self._get_model_params()).fit(coded, y)

    def _set_default_params(self) -> None:
        self._set_default_param_value("random_state", 0)

    def _get_default_auxiliary_params(self) -> dict[str, Any]:
        """Numbers and categories; AutoGluon's own preprocessing leaves out the rest."""
        return super()._get_default_auxiliary_params() | {"valid_raw_types": ["int", "float", "category"]}


def experiments() -> Any:
    """The default configuration, bagged as TabArena does it."""
    from tabarena.utils.config_utils import ConfigGenerator

    made = ConfigGenerator(model_cls=SoftmarginModel, manual_configs=[{}], search_space={})
    return made.generate_all_bag_experiments(num_random_configs=0)
