# ruff: noqa: E501
"""Cases that failed once, shrunk where that was cheap: what they found must stay mended."""

from .case import Case

KNOWN = (
    # A float32 sum of inputs of 1e38, which scikit-learn's validation takes first, was inf - inf.
    Case(seed=188, rows=20, columns=("normal", "normal"), x_exponent=90, container="float32", settings=(("inference", "sparse"),)),
    # The curvature of Student's t divided by the square of a square.
    Case(estimator="svr", seed=481, rows=2, columns=("normal", "skewed", "normal"), y_exponent=-45, weights="mixed", container="fortran", new="very_far", kernel="fixed", settings=(("inference", "map"), ("loss", "student_t"), ("search", None), ("gross_errors", "keep")), relation="negated"),
    # Sites that outweigh their cavity by more than 1e16 went into Anderson's acceleration.
    Case(estimator="svr", seed=3870, rows=12, x_shift=-1000.0, target="skewed", copies="rows", weights="mixed", settings=(("max_iter", 3), ("stack", False))),
    Case(seed=141, rows=8, columns=("normal", "normal"), classes=3, balance="singleton", weights="huge", container="zero_csr", settings=(("inference", "ep"), ("loss", "probit"), ("C", 1e-06), ("search", None)), relation="same_seed"),
    # A mean of 1e19 standard deviations: panels narrower than the distance between numbers never ended.
    Case(seed=3118, rows=9, columns=("normal", "copy", "constant"), labels="str", balance="singleton", weights="huge", settings=(("inference", "sparse"), ("C", 1000000.0), ("max_iter", 4), ("n_inducing", 3), ("multi_class", "ovr")), relation="stream"),
    # Newton's steps drifted away where the condition number leaves no digits, and took a thousand.
    Case(estimator="svr", seed=56003, rows=10, columns=("binary", "heavy", "normal"), x_shift=1000000.0, kernel="poly", settings=(("inference", "map"), ("loss", "gaussian"), ("search", "random_walk"), ("max_iter", 3), ("center", None))),
    Case(estimator="svr", seed=152, rows=5, columns=("collinear", "integer", "normal"), weights="mixed", kernel="power", settings=(("inference", "map"), ("loss", "gaussian"), ("max_iter", 4), ("n_restarts", 1), ("gross_errors", "keep")), relation="row_order"),
    # A site narrower than its cavity by more than 1e16.
    Case(estimator="svr", seed=33042, rows=7, x_exponent=9, kernel="power", settings=(("inference", "mean_field"), ("epsilon", 0.0))),
    # A kernel that is no covariance function, sampled: a bare LinAlgError.
    Case(estimator="svr", seed=236, columns=("normal", "normal", "normal"), kernel="ExpSineSquared", settings=(("inference", "hmc"), ("nugget", 0.1), ("gross_errors", "keep"))),
    # k-means++ drew rows by their place, which followed the order of the columns.
    Case(seed=342347, columns=("normal", "normal"), settings=(("inference", "sparse"), ("search", None), ("n_inducing", 3)), relation="column_order"),
    # A Laplace variance of exactly zero, by cancellation.
    Case(seed=506, rows=10, weights="huge", container="zero_csr", settings=(("inference", "laplace"), ("loss", "probit"), ("C", 30.0), ("search", None))),
    # A softmax that ended by a relative tolerance of 1e10 nats, and conflicting labels whose coefficients cancelled.
    Case(rows=14, columns=("normal", "copy", "heavy"), classes=5, balance="singleton", weights="mixed", settings=(("loss", "least_squares"),), relation="column_order"),
    Case(seed=150488, rows=8, columns=("binary",), classes=5, labels="bool", balance="rare", weights="huge", settings=(("inference", "ep"), ("loss", "least_squares"), ("search", None), ("hyperprior", None), ("class_weight", "balanced")), relation="shift"),
    # A duality gap of 1e-6 leaves 1e-3 of the latent values.
    Case(seed=7779, rows=9, columns=("normal", "normal"), x_exponent=-90, classes=3, labels="float", settings=(("inference", "map"), ("loss", "squared_hinge"), ("search", None), ("multi_class", "ovo")), relation="column_order"),
    # An amplitude in units of 1e90 over 1e-90, squared.
    Case(estimator="svr", seed=855, rows=8, columns=("integer",), x_exponent=-90, y_exponent=90, copies="conflict", new="training", kernel="linear", settings=(("inference", "variational"), ("search", None))),
    # A support vector machine that is solved when it is asked for, with a kernel that is no covariance.
    Case(seed=19317, rows=13, columns=("normal", "collinear", "normal"), labels="str", balance="rare", copies="conflict", weights="huge", kernel="ExpSineSquared", settings=(("inference", "ep"), ("loss", "logistic"), ("C", 30.0), ("search", None), ("hyperprior", None), ("multi_class", "ovr"), ("probability", "map"), ("class_weight", "balanced"))),
    # Interpolation: what rounding of the inputs does already.
    Case(estimator="svr", seed=2097, rows=11, columns=("copy",), target="skewed", container="fortran", settings=(("inference", "map"), ("C", 1000000.0), ("search", None), ("epsilon", 0.0), ("center", None)), relation="shift"),
    # A difference quotient below the smallest epsilon.
    Case(estimator="svr", rows=4, columns=("normal", "normal"), settings=(("criterion", "loo"), ("epsilon", 0.0))),
    # Trajectories at C = 1e6 that leave every number behind.
    Case(seed=123665, rows=7, columns=("skewed", "normal", "normal"), balance="rare", weights="zeros", new="far", settings=(("inference", "hmc"), ("loss", "probit"), ("C", 1000000.0), ("search", None), ("class_weight", "balanced")), relation="save"),
    # A mean-field rate too large for weights of 1e12.
    Case(estimator="svr", rows=4, weights="huge", settings=(("inference", "mean_field"), ("loss", "gaussian"))),
    # A walk followed rounding along the length scale of a constant input.
    Case(estimator="svr", seed=88399, rows=3, columns=("integer", "skewed", "zero"), settings=(("inference", "laplace"), ("search", "random_walk"), ("max_iter", 2), ("nugget", True)), relation="shift"),
)  # fmt: skip
"""Cheap ones."""

DEAR = (
    # Searches in which no inference converges.
    Case(seed=38765, rows=7, columns=("zero",), classes=5, labels="bool", balance="rare", weights="huge", settings=(("inference", "sparse"), ("loss", "probit"), ("criterion", "link_evidence"), ("max_iter", 3), ("n_inducing", 3)), relation="stream"),
    # Annealing with weights of 1e12, by trajectories and by slices.
    Case(seed=100001, rows=7, columns=("binary", "constant"), labels="float", balance="rare", weights="huge", container="frame", new="very_far", settings=(("inference", "hmc"), ("loss", "logistic"), ("C", 1.0), ("search", None), ("multi_class", "ovr"), ("probability", "mean"), ("class_weight", "balanced")), relation="column_order"),
    Case(seed=1, rows=14, columns=("normal", "normal", "normal"), labels="bool", copies="rows", weights="mixed", container="precomputed", settings=(("inference", "variational"), ("criterion", "conditional_evidence"), ("search", "random_walk"), ("max_iter", 1), ("probability", "map")), relation="save"),
    # Trajectories that overflow.
    Case(seed=691260, rows=2, balance="rare", copies="conflict", weights="mixed", new="very_far", kernel="matern32", settings=(("inference", "hmc"), ("loss", "squared_hinge"), ("C", 1000.0), ("search", None), ("multi_class", "ovo")), relation="scale"),
    # Newton's method at a noise that is small against the kernel, a thousand steps at every evaluation.
    Case(estimator="svr", seed=10000, rows=2, columns=("normal", "normal", "copy"), y_exponent=-9, kernel="matern32", settings=(("inference", "laplace"), ("loss", "student_t"), ("search", "sample"), ("max_iter", 2), ("n_restarts", 1), ("hyperprior", None), ("center", None)), relation="column_order"),
    # Searches most of whose inferences fall back, or never converge.
    Case(seed=681138, rows=11, columns=("binary",), classes=5, labels="float", balance="rare", weights="huge", new="far", settings=(("inference", "sparse"), ("loss", "squared_hinge"), ("C", 0.01), ("max_iter", 4), ("n_inducing", 10), ("multi_class", "ovr"), ("class_weight", "balanced")), relation="same_seed"),
    Case(seed=186, rows=2, columns=("normal", "normal", "normal"), x_exponent=90, labels="str", balance="rare", weights="mixed", container="frame", new="far", kernel="ARD", settings=(("inference", "variational"), ("search", "sample"), ("max_iter", 1), ("hyperprior", None), ("probability", "map")), relation="row_order"),
    # A thousand rounds of the dual's solver that gain nothing.
    Case(seed=2653, rows=8, columns=("binary", "normal", "normal"), labels="float", balance="rare", weights="huge", settings=(("inference", "laplace"), ("criterion", "svm_loo"), ("search", "random_walk"), ("max_iter", 4), ("hyperprior", None)), relation="save"),
    # Annealing whose smallest level loses all particles.
    Case(seed=71, rows=7, columns=("normal", "normal", "skewed"), classes=5, labels="bool", balance="rare", weights="huge", settings=(("inference", "map"), ("criterion", "joint_evidence"), ("max_iter", 3), ("multi_class", "ovo")), relation="save"),
    # A Gaussian narrower than the rounding of its mean had no panels.
    Case(seed=37, rows=10, columns=("collinear", "collinear"), x_shift=1000000.0, labels="str", copies="conflict", weights="huge", kernel="poly", settings=(("inference", "laplace"), ("loss", "probit"), ("C", 1.0), ("search", "random_walk"), ("max_iter", 1)), relation="row_order"),
    # Annealing that is cut short at every point of ten walks.
    Case(seed=72114, rows=14, columns=("collinear", "constant", "normal"), classes=5, labels="str", balance="rare", copies="conflict", weights="mixed", settings=(("inference", "map"), ("criterion", "conditional_evidence"), ("search", "random_walk"), ("max_iter", 3), ("multi_class", "ovo")), relation="shift"),
    # Two hundred kicks for every trajectory.
    Case(seed=43427, rows=7, columns=("heavy", "skewed", "heavy"), labels="float", settings=(("inference", "hmc"), ("loss", "probit"), ("C", 1000.0), ("search", None), ("class_weight", "balanced")), relation="refit"),
    Case(seed=297532, rows=7, columns=("normal", "copy"), labels="float", balance="rare", new="far", kernel="matern52", settings=(("inference", "hmc"), ("loss", "probit"), ("C", 1000000.0), ("search", None), ("multi_class", "ovo")), relation="scale"),
)  # fmt: skip
"""Those that take seconds."""
