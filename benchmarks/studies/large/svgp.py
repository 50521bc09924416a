"""Equal numbers of inducing points: the sparse classifier beside GPyTorch's stochastic variational GP (SVGP).

``python -m benchmarks svgp`` (m = 128) or ``--full`` (m = 256); needs gpytorch and torch (`softmargin[bench]`). SVGP as
in its documentation: Bernoulli likelihood, constant mean, RBF kernel with a length scale per input, inducing points
started at k-means centres and learnt, Adam with rate 0.01, batches of 1024. Its log loss is read at one, three and ten
times our CPU time (one thread each, whole epochs; ``--budgets=1,3`` stops earlier). KEEL magic (split of seed 1) and
the smooth synthetic set; ``--seeds=1,2,3`` for other splits and draws.
"""

import argparse
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

from benchmarks.studies._report import table, write
from benchmarks.studies.large.scale import cpu, smooth
from softmargin import BayesianSVC
from softmargin.datasets import load_keel


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


def data_sets(seed):
    """Inputs standardised by the training rows, labels 0 and 1."""
    magic = load_keel("magic")
    X, new, y, truth = train_test_split(magic.data, magic.target, test_size=0.3, random_state=seed)
    yield "magic", X, np.unique(y, return_inverse=True)[1], new, np.unique(truth, return_inverse=True)[1]
    X, y, _ = smooth(20_000, 10, 2 * seed)
    new, truth, _ = smooth(20_000, 10, 2 * seed + 1)
    yield "smooth", X, y, new, truth


def compare(X, y, new, truth, m, budgets):
    """Method, log loss and CPU seconds: ours, then SVGP at multiples of our time."""
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    model = BayesianSVC(inference="sparse", n_inducing=m, random_state=0)
    BayesianSVC(**model.get_params()).set_params(n_inducing=20).fit(X[:500], y[:500])  # compiles
    seconds, fitted = cpu(lambda: model.fit(X, y))
    yield "BayesianSVC", log_loss(truth, fitted.predict_proba(new)), seconds
    limits = [k * seconds for k in budgets]
    for k, (loss, spent) in zip(budgets, svgp_losses(X, y, new, truth, m, limits)):
        yield f"SVGP, {k} x our time", loss, spent


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--budgets", default="1,3,10")
    options = parser.parse_args()
    m, rows = 256 if options.full else 128, []
    seeds, budgets = ([int(v) for v in text.split(",")] for text in (options.seeds, options.budgets))
    torch.set_num_threads(1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            for name, *data in data_sets(seed):
                for method, loss, seconds in compare(*data, m, budgets):
                    rows.append([name, seed, m, method, f"{loss:.4f}", f"{seconds:.1f}"])
    write("svgp", rows, table(["set", "seed", "m", "method", "log loss", "CPU s"], rows))


if __name__ == "__main__":
    main()
