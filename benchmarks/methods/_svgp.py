"""GPyTorch's stochastic variational Gaussian process (SVGP) as estimators, as its documentation fits it.

A constant mean and an RBF kernel with a length scale for each input, inducing points that start at k-means centres and
are learnt, Adam on random batches. Needs gpytorch and torch (`softmargin[bench]`).
"""

import gpytorch
import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, SoftmaxLikelihood
from gpytorch.variational import CholeskyVariationalDistribution, IndependentMultitaskVariationalStrategy
from gpytorch.variational import VariationalStrategy as Strategy
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import StandardScaler

N_INDUCING, BATCH, RATE = 256, 1024, 0.01
STEPS, EPOCHS = 1000, 2
"""Steps of Adam: so many, or those of so many passes where these are more."""


class Model(gpytorch.models.ApproximateGP):
    """The documentation's model: one function, or one for each class with a kernel in common."""

    def __init__(self, Z: torch.Tensor, n_functions: int) -> None:
        shape = torch.Size([n_functions] if n_functions > 1 else [])
        inner = Strategy(self, Z, CholeskyVariationalDistribution(len(Z), batch_shape=shape))
        outer = IndependentMultitaskVariationalStrategy(inner, n_functions) if n_functions > 1 else inner
        super().__init__(outer)
        self.mean_module = gpytorch.means.ConstantMean(batch_shape=shape)
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1]))

    def forward(self, x: torch.Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class _SVGP(BaseEstimator):
    """What classifier and regressor share."""

    def __init__(self, n_inducing: int = N_INDUCING, seed: int = 0) -> None:
        self.n_inducing = n_inducing
        self.seed = seed

    def _learn(self, X: np.ndarray, y: torch.Tensor, likelihood: gpytorch.likelihoods.Likelihood, n_functions: int):
        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        self.scaler_ = StandardScaler().fit(X)
        inputs = self._tensor(X)
        m = min(self.n_inducing, len(X))
        means = MiniBatchKMeans(m, n_init=1, random_state=self.seed, batch_size=4096).fit(inputs.numpy())
        self.model_ = Model(torch.tensor(means.cluster_centers_, dtype=torch.float32), n_functions)
        self.likelihood_ = likelihood
        bound = gpytorch.mlls.VariationalELBO(likelihood, self.model_, num_data=len(X))
        optimiser = torch.optim.Adam([*self.model_.parameters(), *likelihood.parameters()], lr=RATE)
        left = max(STEPS, EPOCHS * -(-len(X) // BATCH))
        self.model_.train(), likelihood.train()
        while left > 0:
            for rows in torch.randperm(len(X)).split(BATCH)[:left]:
                optimiser.zero_grad()
                loss = -bound(self.model_(inputs[rows]), y[rows])
                loss.backward()
                optimiser.step()
                left -= 1
        self.model_.eval(), likelihood.eval()
        return self

    def _tensor(self, X: np.ndarray) -> torch.Tensor:
        return torch.tensor(self.scaler_.transform(X), dtype=torch.float32)

    def _predictive(self, X: np.ndarray) -> list:
        """Predictive distributions of blocks of rows."""
        with torch.no_grad():
            return [self.likelihood_(self.model_(part)) for part in self._tensor(X).split(512)]


class SVGPClassifier(ClassifierMixin, _SVGP):
    """Two classes: Bernoulli likelihood; more: softmax of one function for each class."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "SVGPClassifier":
        self.classes_, index = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k == 2:
            return self._learn(X, torch.tensor(index, dtype=torch.float32), BernoulliLikelihood(), 1)
        likelihood = SoftmaxLikelihood(num_features=k, num_classes=k, mixing_weights=False)
        return self._learn(X, torch.tensor(index), likelihood, k)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        parts = self._predictive(X)
        if len(self.classes_) == 2:
            p = torch.cat([part.mean for part in parts]).double().numpy()
            return np.column_stack([1 - p, p])
        # One row of probabilities for each sample of the functions.
        return torch.cat([part.probs.mean(dim=0) for part in parts]).double().numpy()

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class SVGPRegressor(RegressorMixin, _SVGP):
    """Gaussian noise; targets standardised."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "SVGPRegressor":
        self.center_, self.scale_ = float(np.mean(y)), float(np.std(y))
        target = torch.tensor((y - self.center_) / self.scale_, dtype=torch.float32)
        return self._learn(X, target, GaussianLikelihood(), 1)

    def predict(self, X: np.ndarray) -> np.ndarray:
        mean = torch.cat([part.mean for part in self._predictive(X)]).double().numpy()
        return self.center_ + self.scale_ * mean

    def log_predictive_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        parts = self._predictive(X)
        mean, variance = (torch.cat([getattr(p, name) for p in parts]).double() for name in ("mean", "variance"))
        z = torch.tensor((y - self.center_) / self.scale_)
        return torch.distributions.Normal(mean, variance.sqrt()).log_prob(z).numpy() - np.log(self.scale_)
