"""Equal numbers of inducing points: the sparse classifier beside GPyTorch's stochastic variational GP (SVGP).

``python -m benchmarks svgp`` (m = 128) or ``--full`` (m = 256); needs gpytorch and torch (`softmargin[bench]`). SVGP as
in its documentation: Bernoulli likelihood, constant mean, RBF kernel with a length scale per input, inducing points
started at k-means centres and learnt, Adam with rate 0.01, batches of 1024. Its log loss is read at one, three and ten
times our CPU time (one thread each, whole epochs). KEEL magic (split of seed 1) and the smooth synthetic set.
"""

import sys
import time
import warnings

import gpytorch
import numpy as np
import torch
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks._report import table, write
from benchmarks.scale import cpu, smooth
from softmargin import BayesianSVC
from softmargin.datasets import load_keel

BUDGETS = (1, 3, 10)
"""Multiples of our CPU time at which SVGP is read."""


class SVGP(gpytorch.models.ApproximateGP):
    """The documentation's model, with a length scale per input."""

    def __init__(self, Z):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, distribution))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1]))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def svgp_losses(X, y, new, truth, m, limits):
    """Log loss and CPU seconds after the first epoch that ends beyond each limit."""
    torch.manual_seed(0)
    start = time.process_time()
    Z = MiniBatchKMeans(m, n_init=1, random_state=0, batch_size=4096).fit(X).cluster_centers_
    X, y, new = (torch.tensor(a, dtype=torch.float32) for a in (X, y, new))
    model, likelihood = SVGP(torch.tensor(Z, dtype=torch.float32)), gpytorch.likelihoods.BernoulliLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    spent, read = time.process_time() - start, []
    for limit in limits:
        model.train()
        while spent < limit:
            start = time.process_time()
            for rows in torch.randperm(len(y)).split(1024):
                optimiser.zero_grad()
                loss = -bound(model(X[rows]), y[rows])
                loss.backward()
                optimiser.step()
            spent += time.process_time() - start
        model.eval()
        with torch.no_grad():
            p = torch.cat([likelihood(model(part)).mean for part in new.split(4096)]).numpy().astype(float)
        read.append((log_loss(truth, p), spent))
    return read


def data_sets():
    """Inputs standardised by the training rows, labels 0 and 1."""
    magic = load_keel("magic")
    X, new, y, truth = train_test_split(magic.data, magic.target, test_size=0.3, random_state=1)
    yield "magic", X, np.unique(y, return_inverse=True)[1], new, np.unique(truth, return_inverse=True)[1]
    X, y, _ = smooth(20_000, 10, 2)
    new, truth, _ = smooth(20_000, 10, 3)
    yield "smooth", X, y, new, truth


def main():
    """Print the table."""
    m, rows = 256 if "--full" in sys.argv else 128, []
    torch.set_num_threads(1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, y, new, truth in data_sets():
            scaler = StandardScaler().fit(X)
            X, new = scaler.transform(X), scaler.transform(new)
            model = BayesianSVC(inference="sparse", n_inducing=m, random_state=0)
            BayesianSVC(**model.get_params()).set_params(n_inducing=20).fit(X[:500], y[:500])  # compiles
            seconds, fitted = cpu(lambda: model.fit(X, y))  # noqa: B023
            rows.append([name, m, "BayesianSVC", f"{log_loss(truth, fitted.predict_proba(new)):.4f}", f"{seconds:.1f}"])
            limits = [k * seconds for k in BUDGETS]
            for k, (loss, spent) in zip(BUDGETS, svgp_losses(X, y, new, truth, m, limits)):
                rows.append([name, m, f"SVGP, {k} x our time", f"{loss:.4f}", f"{spent:.1f}"])
    write("svgp", rows, table(["set", "m", "method", "log loss", "CPU s"], rows))


if __name__ == "__main__":
    main()
