"""Decision trees and forests, fitted by the scikit-learn of an environment."""

from __future__ import annotations

from typing import Any


def fitted(count: int, depth: int, x: Any, labels: Any) -> Any:
    """One tree, or a forest of several."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if count == 1:
        return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, labels)
    return RandomForestClassifier(count, max_depth=depth, random_state=0).fit(x, labels)


def same_trees(arrays: dict[str, Any]) -> Any:
    """The model of a case, fitted again; ValueError if its results are other ones.

    Files of fitted trees do not pass between versions of scikit-learn.
    """
    count, depth = (int(value) for value in arrays["shape"])
    model = fitted(count, depth, arrays["sample"], arrays["labels"])
    if abs(model.predict_proba(arrays["x"]) - arrays["plain"]).max() > 1e-12:
        raise ValueError("this scikit-learn fits other trees to the same data")
    return model
