"""Pictures: what they are, how large they may be, and what is done to them."""

from __future__ import annotations

import io
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from whence.errors import InvalidArgs, QuotaExceeded, Unavailable, WhenceError
from whence.shapes import item
from whence.shapes.vision import image_result, is_image, result_parts
from whence.work.image_headers import format_of
from whence.work.images import ImageLimits, load_picture

ORIENTATION = 0x0112
FORMATS = ["PNG", "JPEG", "GIF", "WEBP"]


def written(image: Image.Image, format: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def plain(width: int = 40, height: int = 30) -> Image.Image:
    return Image.new("RGB", (width, height), (200, 30, 30))


def png_claiming(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.requirement("image:type")
@pytest.mark.parametrize("format", FORMATS)
def test_a_picture_that_fits_passes_byte_for_byte_whatever_its_name(format: str) -> None:
    data = written(plain(), format)

    picture = load_picture(data, "misnamed.txt")

    assert picture.data == data
    assert picture.media_type == f"image/{format.lower()}"
    assert (picture.size, picture.notes) == ((40, 30), ())


@pytest.mark.requirement("image:type")
@pytest.mark.parametrize("format", ["BMP", "TIFF", "AVIF"])
def test_a_format_that_models_do_not_take_is_converted(format: str) -> None:
    picture = load_picture(written(plain(), format), "a")

    assert picture.media_type == "image/png"
    assert opened(picture.data).size == (40, 30)
    assert format in picture.notes[0]


@pytest.mark.requirement("image:type")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no picture"),
        (b"hello", "no picture"),
        (b"%PDF-1.7", "a PDF"),
        (b"PK\x03\x04", "ZIP"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "a sound or a video"),
        (b"\0\0\0\x18ftypheic", "HEIC"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG drawing, and"),
        (b"<?xml version='1.0'?>\n<!-- x -->\n<svg><rect/></svg>", "SVG drawing, and"),
        (b"\xef\xbb\xbf<svg><script>alert(1)</script></svg>", "SVG drawing with scripts"),
        (b"<svg onload='alert(1)'/>", "SVG drawing with scripts"),
        (b"<svg><a href='javascript:x()'/></svg>", "SVG drawing with scripts"),
    ],
    ids=range(11),
)
def test_what_is_no_picture_is_refused_and_named(data: bytes, said: str) -> None:
    with pytest.raises(InvalidArgs) as caught:
        load_picture(data, "a.png")

    assert said in caught.value.message
    assert "'a.png'" in caught.value.message


@pytest.mark.requirement("image:type")
@pytest.mark.parametrize("format", FORMATS)
def test_a_picture_that_was_cut_short_is_refused(format: str) -> None:
    data = written(Image.effect_noise((300, 200), 90).convert("RGB"), format)

    with pytest.raises(InvalidArgs, match=f"begins like a {format} picture"):
        load_picture(data[: len(data) // 3], "a")


@pytest.mark.requirement("image:bomb")
@pytest.mark.parametrize(
    "data",
    [
        png_claiming(100_000, 100_000),
        png_claiming(2**31 - 1, 2**31 - 1),
        b"GIF89a\xff\xff\xff\xff\0\0\0;",
        b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x22\x00",
        b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff",
        b"BM" + struct.pack("<IIIIiiHHIIiiII", 60, 0, 54, 40, 60_000, 60_000, 1, 24, *[0] * 6),
    ],
    ids=["png", "png-largest", "gif", "jpeg", "webp", "bmp"],
)
def test_a_picture_that_claims_to_be_enormous_is_refused_before_it_is_decoded(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(QuotaExceeded, match="pixels"):
            load_picture(data, "bomb")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 20_000_000


@pytest.mark.requirement("image:limits")
@pytest.mark.parametrize("format", FORMATS)
def test_a_large_picture_is_scaled_down_in_proportion(format: str) -> None:
    picture = load_picture(written(plain(3000, 1500), format), "wide.x")

    assert picture.size == opened(picture.data).size == (1568, 784)
    assert "scaled from 3000×1500 to 1568×784" in picture.notes[0]
    red, green, blue = opened(picture.data).convert("RGB").getpixel((700, 300))  # type: ignore[misc]
    assert abs(red - 200) + abs(green - 30) + abs(blue - 30) < 12


@pytest.mark.requirement("image:limits")
def test_transparency_and_screenshots_stay_lossless_and_photographs_become_jpeg() -> None:
    glass = Image.new("RGBA", (2000, 100), (0, 0, 255, 128))

    assert opened(load_picture(written(glass, "PNG"), "a").data).getpixel((5, 5)) == (
        0, 0, 255, 128,
    )  # fmt: skip
    assert load_picture(written(plain(2000, 100), "JPEG"), "a").media_type == "image/jpeg"


@pytest.mark.requirement("image:limits")
def test_sixteen_bits_of_grey_are_not_clipped() -> None:
    grey = Image.new("I;16", (3000, 30), 30_000)

    picture = load_picture(written(grey, "PNG"), "depth.png")

    assert opened(picture.data).convert("L").getpixel((3, 3)) == 117


@pytest.mark.requirement("image:limits")
def test_what_is_still_too_large_without_loss_is_sent_as_jpeg() -> None:
    noise = Image.effect_noise((800, 800), 90)
    limits = ImageLimits(edge=400, sent_bytes=60_000)

    picture = load_picture(written(noise.convert("RGBA"), "PNG"), "noise", limits)

    assert picture.media_type == "image/jpeg"
    assert len(picture.data) <= 60_000
    with pytest.raises(QuotaExceeded, match="even when scaled down"):
        load_picture(written(noise, "PNG"), "noise", ImageLimits(edge=400, sent_bytes=900))


@pytest.mark.requirement("image:limits")
def test_a_file_with_too_many_bytes_is_refused() -> None:
    with pytest.raises(QuotaExceeded, match="200 bytes"):
        load_picture(b"\x89PNG" + b"x" * 196, "a", ImageLimits(file_bytes=100))


@pytest.mark.requirement("image:limits")
def test_of_a_moving_picture_that_is_scaled_the_first_frame_is_shown() -> None:
    frames = [Image.new("RGB", (2000, 10), color) for color in ("red", "blue")]
    data = written(frames[0], "GIF", save_all=True, append_images=frames[1:])

    assert "only the first frame" in load_picture(data, "a.gif").notes[-1]


@pytest.mark.requirement("image:upright")
@pytest.mark.parametrize(
    ("orientation", "corner"),
    [(1, (0, 0)), (2, (1, 0)), (3, (1, 1)), (4, (0, 1)), (5, (0, 0)), (6, (1, 0)), (7, (1, 1)),
     (8, (0, 1))],
)  # fmt: skip
def test_a_photograph_is_turned_upright(orientation: int, corner: tuple[int, int]) -> None:
    image = Image.new("RGB", (60, 40), "black")
    image.paste("white", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    data = written(image, "JPEG", exif=exif, quality=95)

    picture = load_picture(data, "photo.jpg")

    upright = opened(picture.data).convert("L")
    assert upright.size == picture.size == ((60, 40) if orientation < 5 else (40, 60))
    assert upright.getexif().get(ORIENTATION, 1) == 1
    x, y = (5 if side == 0 else length - 6 for side, length in zip(corner, upright.size))  # noqa: B905
    assert upright.getpixel((x, y)) > 200  # type: ignore[operator]
    assert bool(picture.notes) == (orientation > 1)


@pytest.mark.requirement("image:without-library")
def test_without_the_library_small_pictures_pass_and_others_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small, large = written(plain(), "PNG"), written(plain(3000, 20), "JPEG")
    converted = written(plain(), "BMP")
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)

    assert load_picture(small, "a").data == small
    for data, what in ((large, "3000×20"), (converted, "BMP")):
        with pytest.raises(Unavailable, match=what) as caught:
            load_picture(data, "a")
        assert "whence[image]" in caught.value.suggestion
    with pytest.raises(QuotaExceeded):
        load_picture(png_claiming(100_000, 100_000), "a")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("size", [(1, 1), (17, 300), (1500, 2)])
def test_the_header_says_what_the_library_says(format: str, size: tuple[int, int]) -> None:
    for options in ({}, {"lossless": True}, {"progressive": True}):
        data = written(Image.new("RGB", size), format, **options)
        found = format_of(data, "a")
        assert found.size is not None
        assert found.size(data) == size


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from([written(plain(9, 7), name) for name in (*FORMATS, "BMP", "TIFF")]),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6),
    st.integers(0, 400),
)
def test_damaged_pictures_are_shown_or_refused_and_nothing_else(
    data: bytes, damage: list[tuple[int, int]], cut: int
) -> None:
    damaged = bytearray(data[: max(len(data) - cut, 0)] if cut < 200 else data)
    for place, value in damage:
        if place < len(damaged):
            damaged[place] = value

    try:
        picture = load_picture(bytes(damaged), "a")
    except WhenceError as error:
        assert error.suggestion  # noqa: PT017 - either is fine, and nothing else
    else:
        assert picture.media_type.startswith("image/")


def test_a_picture_in_a_result_becomes_a_picture_and_the_rest_words() -> None:
    picture = image_result("image/png", "QUJD")

    assert is_image(picture)
    assert not is_image({"type": "image"})
    assert result_parts(picture) == (item.Image(item.Inline("image/png", "QUJD")),)
    assert result_parts(["a", picture, {"n": 1}]) == (
        item.Text("a"), item.Image(item.Inline("image/png", "QUJD")), item.Text('{"n":1}'),
    )  # fmt: skip
    assert result_parts("words") == (item.Text("words"),)
    assert result_parts(["a", 1]) == (item.Text('["a",1]'),)


def test_the_imaging_library_is_loaded_only_for_pictures() -> None:
    import subprocess

    code = "import sys, whence.work.images, whence.catalogs.chatmd; sys.exit('PIL' in sys.modules)"
    here = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=here, check=False).returncode == 0


@pytest.mark.requirement("image:type")
def test_a_damaged_header_is_told_without_words_of_the_library() -> None:
    with pytest.raises(InvalidArgs, match="its header is damaged") as caught:
        load_picture(png_claiming(4, 4)[:40], "cut.png")

    assert "object at" not in caught.value.message
