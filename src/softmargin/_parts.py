"""What every exchangeable part shares: parameters that scikit-learn can read, set, copy and show.

Likelihoods, inferences, criteria and searches are frozen dataclasses. An estimator takes them as parameters, so
`get_params`, `set_params` and `sklearn.base.clone` must reach into them: ``BayesianSVC(inference=EP()).set_params(
inference__tol=1e-8)``, or ``schedule__n_moves`` of an `HMC`.
"""

from dataclasses import MISSING, fields, replace
from typing import Any, Self


class Part:
    """A mixin for frozen dataclasses: scikit-learn's parameter protocol.

    Declare the class with ``@dataclass(frozen=True, repr=False)`` to get the representation that shows only the
    fields that differ from their defaults. `clone` gives an equal, independent copy.

    Examples
    --------
    >>> from softmargin.inference import EP
    >>> EP(tol=1e-8)
    EP(tol=1e-08)
    >>> EP().set_params(max_sweeps=10).get_params()
    {'tol': 1e-06, 'max_sweeps': 10, 'gradients': True}
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the fields by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of fields that are parts themselves, as ``field__parameter``.
        """
        params = self._own()
        if deep:
            for name, value in self._own().items():
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Change fields in place and return the part; ``field__parameter`` reaches into a part within.

        Nothing is changed if a value is not allowed. A part is otherwise immutable, and used as such: only the
        estimator whose parameter it is should call this.
        """
        own: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in self._own():
                raise ValueError(
                    f"invalid parameter {name!r} for {type(self).__name__}; its parameters are {sorted(self._own())}"
                )
            if rest:
                inner.setdefault(name, {})[rest] = value
            else:
                own[name] = value
        changed = replace(self, **own)  # type: ignore[type-var]
        # Values derived from the old fields (cached properties) go with them.
        self.__dict__.clear()
        self.__dict__.update(changed._own())
        for name, values in inner.items():
            getattr(self, name).set_params(**values)
        return self

    def _own(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        shown = []
        for f in fields(self):  # type: ignore[arg-type]
            default = f.default_factory() if f.default_factory is not MISSING else f.default
            value = getattr(self, f.name)
            # As scikit-learn does: two values with the same representation are the same.
            if f.repr and (default is MISSING or repr(value) != repr(default)):
                shown.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"
