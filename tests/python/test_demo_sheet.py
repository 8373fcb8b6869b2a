"""Sheets of pictures: places, frames and enlargement."""

import numpy as np
from cloakwork.demo.sheet import PAPER, RIGHT, WRONG, sheet


def test_pictures_stand_in_rows_and_frames_tell_right_from_wrong() -> None:
    images = np.stack([np.full((4, 6), level) for level in (0.0, 0.5, 1.0)])
    pixels = sheet(images, np.array([True, False, True]), columns=2, zoom=2)
    # A tile is 8 + 2 * 5 high and 12 + 2 * 5 wide: two rows, two columns.
    assert pixels.shape == (36, 44, 3)
    assert (pixels[0] == PAPER).all()
    np.testing.assert_array_equal(pixels[3, 3], RIGHT)
    np.testing.assert_array_equal(pixels[3, 22 + 3], WRONG)
    np.testing.assert_array_equal(pixels[18 + 3, 3], RIGHT)
    for (row, column), level in {(5, 5): 0, (12, 16): 0, (5, 27): 128, (23, 5): 255}.items():
        np.testing.assert_array_equal(pixels[row, column], level)
    # The last place is empty.
    assert (pixels[18:, 22:] == PAPER).all()


def test_pictures_with_channels_keep_their_colours() -> None:
    image = np.zeros((1, 3, 2, 2))
    image[0, 0] = 1.0
    pixels = sheet(image, np.array([True]), columns=1, zoom=1)
    np.testing.assert_array_equal(pixels[5:7, 5:7], np.broadcast_to([255, 0, 0], (2, 2, 3)))
