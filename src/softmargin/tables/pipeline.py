"""The pipeline around an estimator that turns a table's columns into numbers; it is part of the saved model."""

from typing import Any

import numpy as np
import pandas as pd

from softmargin.tables.columns import Table
from softmargin.tables.reading import short


def make_pipeline(table: Table, estimator: Any) -> Any:
    """A scikit-learn pipeline that fills gaps, spreads categories and ends in the estimator.

    Its first step knows the columns by name, so the fitted pipeline is the whole model.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    steps = []
    if table.numeric:
        steps.append(
            (
                "numeric",
                SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
                list(table.numeric),
            )
        )
    if table.category:
        words = Pipeline(
            [
                ("fill", SimpleImputer(strategy="constant", fill_value="(missing)")),
                ("spread", OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
            ]
        )
        steps.append(("category", words, list(table.category)))
    columns = ColumnTransformer(steps, verbose_feature_names_out=False)
    return Pipeline([("columns", columns), ("model", estimator)])


def columns_of(pipeline: Any) -> tuple[list[str], list[str]]:
    """The numeric and the category columns that a fitted pipeline of `make_pipeline` expects."""
    named = {name: list(columns) for name, _, columns in pipeline.named_steps["columns"].transformers_}
    return named.get("numeric", []), named.get("category", [])


def unseen_categories(pipeline: Any, X: pd.DataFrame) -> list[str]:
    """Say which categories of X the model has never met."""
    _, category = columns_of(pipeline)
    if not category:
        return []
    encoder = pipeline.named_steps["columns"].named_transformers_["category"].named_steps["spread"]
    notes = []
    for name, known in zip(category, encoder.categories_):
        new = sorted(set(X[name].dropna()) - set(known))
        if new:
            shown = ", ".join(repr(short(v)) for v in new[:3]) + (", ..." if len(new) > 3 else "")
            notes.append(f"column {short(name)!r}: {len(new)} values were not in the training data ({shown})")
    return notes


def sources_of(pipeline: Any) -> list[tuple[str, str]]:
    """The column that each input of the estimator comes from, and what the input says of it ("" for a number)."""
    numeric, category = columns_of(pipeline)
    found = [(name, "") for name in numeric]
    parts = pipeline.named_steps["columns"].named_transformers_
    if numeric and parts["numeric"].indicator_ is not None:
        found += [(numeric[i], "is missing") for i in parts["numeric"].indicator_.features_]
    if category:
        for name, values in zip(category, parts["category"].named_steps["spread"].categories_):
            found += [(name, f"= {value}") for value in values]
    return found


def relevance_by_column(pipeline: Any) -> dict[str, float] | None:
    """Relevance of each column (the largest of its inputs'), most relevant first; None if the kernel has none."""
    relevance = getattr(pipeline.named_steps["model"], "relevance_", None)
    if relevance is None:
        return None
    best: dict[str, float] = {}
    for (name, _), value in zip(sources_of(pipeline), np.asarray(relevance)):
        best[name] = max(best.get(name, 0.0), float(value))
    return dict(sorted(best.items(), key=lambda item: -item[1]))


def importance_by_column(pipeline: Any) -> dict[str, float] | None:
    """Importance of each column (its inputs' add up in squares), sums to 1, the largest first; None if unknown."""
    importance = getattr(pipeline.named_steps["model"], "importance_", None)
    if importance is None:
        return None
    squares: dict[str, float] = {}
    for (name, _), value in zip(sources_of(pipeline), np.asarray(importance)):
        squares[name] = squares.get(name, 0.0) + float(value) ** 2
    total = sum(np.sqrt(value) for value in squares.values()) or 1.0
    return dict(sorted(((name, float(np.sqrt(v) / total)) for name, v in squares.items()), key=lambda item: -item[1]))
