"""Libraries that follow the array API standard take tensors and give tensors back."""

import os
import subprocess
import sys

# SciPy reads its switch when it is imported, so that each library has a process of its own.
COMPAT = """
import array_api_compat, numpy, cloakwork as cw
a = cw.asarray(numpy.ones((5, 3)))
assert array_api_compat.array_namespace(a) is cw
assert array_api_compat.is_array_api_obj(a)
assert (array_api_compat.device(a), array_api_compat.size(a)) == ("cpu", 15)
"""

SKLEARN = """
import numpy, sklearn, cloakwork as cw
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MinMaxScaler

X = numpy.random.default_rng(1).random((50, 5))
y = X @ numpy.arange(5.0)
theirs = PCA(2, svd_solver="full").fit(X).transform(X)
coefficients = Ridge(solver="svd").fit(X, y).coef_
scaled = MinMaxScaler().fit_transform(X)
with sklearn.config_context(array_api_dispatch=True):
    tensor = cw.asarray(X)
    ours = PCA(2, svd_solver="full").fit(tensor).transform(tensor)
    ridge = Ridge(solver="svd").fit(tensor, cw.asarray(y))
    also_scaled = MinMaxScaler().fit_transform(tensor)
assert all(isinstance(t, cw.Tensor) for t in (ours, ridge.coef_, also_scaled))
numpy.testing.assert_allclose(numpy.abs(numpy.asarray(ours)), numpy.abs(theirs), atol=1e-10)
numpy.testing.assert_allclose(numpy.asarray(ridge.coef_), coefficients, rtol=1e-10)
numpy.testing.assert_allclose(numpy.asarray(also_scaled), scaled, rtol=1e-12)
"""

# Without a switch: libraries that convert their arguments, or call NumPy's functions.
PLAIN = """
import numpy, cloakwork as cw
import scipy.interpolate, scipy.ndimage, scipy.optimize, scipy.signal, scipy.sparse
import scipy.spatial.distance, scipy.stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, mean_squared_error, r2_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

x = numpy.random.default_rng(3).random((20, 4))
labels = numpy.arange(20) % 2
calls = [
    lambda a, b: scipy.ndimage.gaussian_filter(a, 1),
    lambda a, b: scipy.signal.convolve(a[0], a[1]),
    lambda a, b: scipy.stats.ttest_ind(a[:, 0], a[:, 1]).statistic,
    lambda a, b: scipy.spatial.distance.cdist(a, a),
    lambda a, b: scipy.sparse.csr_matrix(numpy.eye(4)) @ a[0],
    lambda a, b: scipy.sparse.csr_matrix(a).sum(),
    lambda a, b: scipy.interpolate.CubicSpline(numpy.arange(4.0), a[0])(1.5),
    lambda a, b: scipy.optimize.least_squares(lambda v: v - numpy.asarray(a[0]), a[1]).x,
    lambda a, b: StandardScaler().fit_transform(a),
    lambda a, b: LogisticRegression().fit(a, b).predict(a),
    lambda a, b: mean_squared_error(a[0], a[1]),
    lambda a, b: r2_score(a[:, 0], a[:, 1]),
    lambda a, b: roc_auc_score(b, a[:, 0]),
    lambda a, b: confusion_matrix(b, b),
    lambda a, b: numpy.linalg.lstsq(a, b * 1.0)[0],
    lambda a, b: numpy.apply_along_axis(numpy.ptp, 1, a),
]
for number, call in enumerate(calls):
    ours, theirs = call(cw.asarray(x), cw.asarray(labels)), call(x, labels)
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=str(number))
"""

SCIPY = """
import numpy, cloakwork as cw
import scipy.cluster.vq, scipy.fft, scipy.integrate, scipy.special, scipy.stats

x = numpy.random.default_rng(2).random((50, 5))
functions = [
    scipy.cluster.vq.whiten,
    scipy.fft.fft,
    scipy.integrate.trapezoid,
    scipy.special.expit,
    scipy.special.logsumexp,
    scipy.special.softmax,
    scipy.stats.entropy,
    scipy.stats.gmean,
    scipy.stats.kurtosis,
    scipy.stats.skew,
    scipy.stats.variation,
    scipy.stats.zscore,
]
for function in functions:
    ours = function(cw.asarray(x))
    assert isinstance(ours, cw.Tensor), function
    numpy.testing.assert_allclose(numpy.asarray(ours), function(x), rtol=1e-9, atol=1e-12)
"""


def run(script: str, *, array_api: bool = True) -> None:
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    if not array_api:
        del environment["SCIPY_ARRAY_API"]
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_array_api_compat_knows_the_namespace() -> None:
    run(COMPAT)


def test_estimators_of_scikit_learn_compute_on_tensors() -> None:
    run(SKLEARN)


def test_functions_of_scipy_compute_on_tensors() -> None:
    run(SCIPY)


def test_libraries_that_convert_their_arguments_take_tensors() -> None:
    run(PLAIN, array_api=False)
