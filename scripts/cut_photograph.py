"""Cut the photograph of `cloakwork demo sharpen` out of scikit-learn's `china.jpg`.

    python scripts/cut_photograph.py [--out python/cloakwork/models/data]

Needs scikit-learn and Pillow, which reads JPEG.  Writes `photograph.zip`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cloakwork.models.stored import pack
from sklearn.datasets import load_sample_image

SOURCE = (
    "Summer Palace, by danielbuechele, https://www.flickr.com/photos/danielbuechele/6061409035/ "
    "(which scikit-learn ships as china.jpg); cut to 256 x 256 pixels"
)
LICENCE = "CC BY 2.0, https://creativecommons.org/licenses/by/2.0/"
TOP, LEFT, SIZE = 22, 80, 256


def main() -> None:
    parser = argparse.ArgumentParser(description="Cut the photograph of the demo `sharpen`.")
    parser.add_argument("--out", type=Path, default=Path("python/cloakwork/models/data"))
    options = parser.parse_args()
    whole = load_sample_image("china.jpg")
    pixels = whole[TOP : TOP + SIZE, LEFT : LEFT + SIZE]
    pack(options.out / "photograph.zip", {"pixels": pixels}, {"source": SOURCE, "licence": LICENCE})


if __name__ == "__main__":
    main()
