"""From rows and parts to a fitted latent function: coordinates, hyperpriors, the policy's stages, the search.

`fit_latent` works with the Gram matrix of all rows, `fit_sparse` through inducing points on rows anywhere; both return
a `LatentModel`. Nothing here knows an estimator.
"""

from softmargin.tuning.climb import End
from softmargin.tuning.coordinates import (
    Coordinates,
    FixedLikelihood,
    LikelihoodCoordinates,
    LogParameters,
    Model,
    NoiseShape,
)
from softmargin.tuning.held_out import HeldOut, Watch, hold_out
from softmargin.tuning.hyperprior import HyperPrior, bind_prior
from softmargin.tuning.large.refine import Sample
from softmargin.tuning.large.sparse import fit_sparse, leave_rows_out
from softmargin.tuning.large.stream import RememberedRows, follow, update
from softmargin.tuning.latent import choose_end, fit_latent
from softmargin.tuning.model import LatentModel, Probability
from softmargin.tuning.objective import Objective, Subspace, path_row
from softmargin.tuning.settings import Tuning
from softmargin.tuning.slopes import latent_slopes, log_odds_slopes, mean_slopes
from softmargin.tuning.stages import (
    Stage,
    classifier_prior,
    is_better_link,
    is_doubtful,
    plan_stages,
    start_at,
)
from softmargin.tuning.threads import blas_threads

__all__ = [
    "Coordinates",
    "End",
    "FixedLikelihood",
    "HeldOut",
    "HyperPrior",
    "LatentModel",
    "LikelihoodCoordinates",
    "LogParameters",
    "Model",
    "NoiseShape",
    "Objective",
    "Probability",
    "RememberedRows",
    "Sample",
    "Stage",
    "Subspace",
    "Tuning",
    "Watch",
    "bind_prior",
    "blas_threads",
    "choose_end",
    "classifier_prior",
    "fit_latent",
    "fit_sparse",
    "follow",
    "hold_out",
    "is_better_link",
    "is_doubtful",
    "latent_slopes",
    "leave_rows_out",
    "log_odds_slopes",
    "mean_slopes",
    "path_row",
    "plan_stages",
    "start_at",
    "update",
]
