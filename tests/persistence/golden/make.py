"""Write the golden files of the current format: ``python tests/persistence/golden/make.py``. Never rewrite old ones."""

from pathlib import Path

import numpy as np
import scipy.sparse

import softmargin


def main() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=20)
    models = {
        "classifier": softmargin.BayesianSVC(C=1.0, search=None).fit(X, np.where(y > 0, "yes", "no")),
        "squared": softmargin.BayesianSVC(C=1.0, search=None, loss="squared_hinge").fit(X, y > 0),
        "sparse-input": softmargin.BayesianSVC(C=1.0, search=None).fit(scipy.sparse.csr_matrix(X), y > 0),
        "three-classes": softmargin.BayesianSVC(C=1.0, search=None).fit(X, np.digitize(y, [-0.5, 0.5])),
        "regressor": softmargin.BayesianSVR(C=1.0, epsilon=0.1, search=None).fit(X, y),
    }
    folder = Path(__file__).parent
    for name, model in models.items():
        predict = getattr(model, "predict_proba", model.predict)
        softmargin.save(model, folder / f"{name}.skops")
        np.savez(folder / f"{name}.npz", X=new, answer=predict(new))


if __name__ == "__main__":
    main()
