"""
A table with words and gaps, and a model file
=============================================

The estimators go into scikit-learn's pipelines, and the whole pipeline into a file that is safe to load.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import softmargin
from softmargin.displays import RelevanceDisplay

rng = np.random.default_rng(0)
table = pd.DataFrame({"age": rng.normal(40, 12, 150), "town": rng.choice(["Ulm", "Bonn", "Kiel"], 150)})
y = np.where(table["age"] + 10 * (table["town"] == "Ulm") + rng.normal(0, 6, 150) > 44, "yes", "no")
table.loc[::17, "age"] = np.nan

columns = ColumnTransformer([("number", SimpleImputer(), ["age"]), ("word", OneHotEncoder(), ["town"])])
model = make_pipeline(columns, softmargin.BayesianSVC()).fit(table, y)

with tempfile.TemporaryDirectory() as folder:
    path = softmargin.save(model, Path(folder) / "model.skops")
    again = softmargin.load(path)
print("same probabilities after reload:", np.array_equal(again.predict_proba(table), model.predict_proba(table)))
RelevanceDisplay.from_estimator(model[-1], names=columns.get_feature_names_out())
