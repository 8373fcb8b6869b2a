"""Requirements of users' extras begin past the vulnerabilities that are known of older versions."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from scripts.dev import locks

# The last version with a vulnerability in what the package does with others' bytes.
VULNERABLE = {
    # CVE-2025-43859: chunked bodies that two readers end at two places.
    "h11": "0.14.0",
    # CVE-2024-3651: time that grows with the square of a name.
    "idna": "3.6",
    # External data of a model outside of its folder, and others until 1.20.
    "onnx": "1.20.1",
    # CVE-2025-4565 and CVE-2026-0994: recursion without a limit.
    "protobuf": "6.33.4",
    # CVE-2024-3772: a slow regular expression.
    "pydantic": "2.3.0",
    # CVE-2025-62727: a Range header whose reading takes the square of its length.
    "starlette": "0.49.0",
}


@pytest.mark.parametrize("name", VULNERABLE)
def test_no_vulnerable_version_is_taken(name: str) -> None:
    project = locks.pyproject()
    stated = [
        one for extra in project["project"]["optional-dependencies"].values() for one in extra
    ]
    found = [one for one in map(Requirement, stated) if one.name == name]
    assert found, f"{name} has no floor"
    assert not any(one.specifier.contains(VULNERABLE[name]) for one in found)
