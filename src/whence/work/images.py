"""Pictures for models: known by their content, upright, and no larger than a model looks at."""

from __future__ import annotations

import base64
import os
import struct
import threading
import warnings
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from whence.errors import InvalidArgs, NotFound, QuotaExceeded, Unavailable, WhenceError
from whence.execute.ports import Files
from whence.shapes.json import JSONValue
from whence.shapes.vision import image_result
from whence.work.files import open_file
from whence.work.image_headers import Format, Size, format_of

if TYPE_CHECKING:
    from PIL import Image

_ORIENTATION = 0x0112
_ONE_AT_A_TIME = threading.Lock()
"""Two large pictures at once would need twice the memory."""
_QUALITIES = (85, 60)
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """How large a picture may be."""

    file_bytes: int = 20_000_000
    """Read at all."""
    pixels: int = 50_000_000
    """Decoded at all: some 200 MB of memory."""
    edge: int = 1568
    """Sent; a larger one is scaled down. Models look at no more."""
    sent_bytes: int = 3_750_000
    """Sent; 5 MB as base64, which every provider takes."""


IMAGE_LIMITS = ImageLimits()
"""The limits where nobody set any."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a model can be given."""

    media_type: str
    data: bytes
    size: Size
    notes: tuple[str, ...] = ()
    """What was done to it."""

    @property
    def base64(self) -> str:
        """The data as they travel."""
        return base64.b64encode(self.data).decode("ascii")

    def as_result(self) -> dict[str, JSONValue]:
        """The picture as the result of a tool."""
        return image_result(self.media_type, self.base64)


async def read_picture(files: Files, path: str, limits: ImageLimits = IMAGE_LIMITS) -> Picture:
    """The picture in a file of the workspace, decoded beside the event loop."""
    from whence.work.apart import apart

    try:
        file = open_file(files, path)
    except NotFound as error:
        message = f"Image file {path} does not exist."
        raise NotFound(message, error.suggestion, details=error.details) from None
    with file:
        _check_bytes(os.fstat(file.fileno()).st_size, path, limits)
        data = file.read(limits.file_bytes + 1)
    return await apart(lambda: load_picture(data, path, limits), seconds=_SECONDS, what=path)


def load_picture(data: bytes, name: str, limits: ImageLimits = IMAGE_LIMITS) -> Picture:
    """A picture from its bytes: as it is where it fits, else upright, scaled and encoded again.

    Raises:
        InvalidArgs: It is no picture, or a broken one.
        QuotaExceeded: It has more bytes or pixels than are looked at.
        Unavailable: It must be changed, and the imaging library is not installed.
    """
    _check_bytes(len(data), name, limits)
    found = format_of(data, name)
    size = found.size(data) if found.size else None
    if found.size and (size is None or 0 in size):
        raise _broken(name, found, "its header names no size")
    if size:
        _check_pixels(size, name, limits)
    fits = size is not None and max(size) <= limits.edge and len(data) <= limits.sent_bytes
    try:
        import PIL.Image as imaging  # noqa: N813
        from PIL import UnidentifiedImageError
    except ImportError:
        if not fits or size is None or found.media_type is None:
            raise _needs_library(name, found, size, limits) from None
        return Picture(found.media_type, data, size)
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _prepared(imaging, data, name, found, limits, fits=fits)
        except UnidentifiedImageError:  # whose message names an object in memory
            raise _broken(name, found, "its header is damaged") from None
        except imaging.DecompressionBombError as error:
            raise QuotaExceeded(f"{name!r}: {error}", "Give a smaller one.") from None
        except (
            OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, struct.error,
            zlib.error,
        ) as error:  # fmt: skip
            raise _broken(name, found, str(error) or type(error).__name__) from None


def _prepared(
    imaging: Any, data: bytes, name: str, found: Format, limits: ImageLimits, *, fits: bool
) -> Picture:
    # Only the format that was recognised: some others start programs.
    with imaging.open(BytesIO(data), formats=[found.name]) as image:
        _check_pixels(image.size, name, limits)
        turned = image.getexif().get(_ORIENTATION, 1) not in (0, 1)
        if fits and not turned and found.media_type:
            image.load()
            return Picture(found.media_type, data, image.size)
        return _changed(image, name, found, limits, turned=turned)


def _changed(
    image: Image.Image, name: str, found: Format, limits: ImageLimits, *, turned: bool
) -> Picture:
    from PIL import ImageOps

    before, several = image.size, getattr(image, "is_animated", False)
    box = (limits.edge, limits.edge)
    image.draft("RGB", box)  # a JPEG is decoded at a fraction of its size
    plain = _plain(image)
    plain.thumbnail(box, reducing_gap=2.0)
    ImageOps.exif_transpose(plain, in_place=True)
    media_type, data = _encoded(plain, name, found, limits)
    notes = [f"turned upright, as its EXIF data ask: {name}"] if turned else []
    if max(before) > limits.edge:
        notes.append(f"scaled from {before[0]}×{before[1]} to {plain.width}×{plain.height}: {name}")
    if media_type != found.media_type:
        notes.append(f"converted from {found.name} to {media_type}: {name}")
    if several:
        notes.append(f"only the first frame is shown: {name}")
    return Picture(media_type, data, plain.size, tuple(notes))


def _plain(image: Image.Image) -> Image.Image:
    """The same picture in colours of eight bits, with transparency where there was any."""
    if image.mode.startswith("I"):  # sixteen bits of grey, which a conversion would clip
        grey = image.point(lambda value: value * (1 / 256))
        converted = grey.convert("L")
    elif "A" in image.getbands() or "transparency" in image.info:
        converted = image.convert("RGBA")
    else:
        converted = image.convert("RGB")
    if converted is not image:
        converted.getexif().update(image.getexif())
    return converted


def _encoded(
    image: Image.Image, name: str, found: Format, limits: ImageLimits
) -> tuple[str, bytes]:
    """Without loss, unless it came as a photograph or would be too large."""
    if found.name != "JPEG":
        written = BytesIO()
        image.save(written, "PNG", optimize=False)
        if written.tell() <= limits.sent_bytes:
            return "image/png", written.getvalue()
    opaque = _on_white(image)
    for quality in _QUALITIES:
        written = BytesIO()
        opaque.save(written, "JPEG", quality=quality)
        if written.tell() <= limits.sent_bytes:
            return "image/jpeg", written.getvalue()
    raise QuotaExceeded(
        f"{name!r} has {written.tell()} bytes even when scaled down, more than {limits.sent_bytes}",
        "Crop it, or give a smaller one.",
    )


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image.convert("RGB")
    from PIL import Image

    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _check_bytes(count: int, name: str, limits: ImageLimits) -> None:
    if count > limits.file_bytes:
        raise QuotaExceeded(
            f"{name!r} has {count} bytes, more than the {limits.file_bytes} of a picture",
            "Give a smaller one.",
            details={"limit": limits.file_bytes, "used": count},
        )


def _check_pixels(size: Size, name: str, limits: ImageLimits) -> None:
    pixels = size[0] * size[1]
    if pixels > limits.pixels:
        raise QuotaExceeded(
            f"{name!r} claims {size[0]}×{size[1]} pixels; up to {limits.pixels} are decoded",
            "Give a smaller one.",
            details={"limit": limits.pixels, "used": pixels},
        )


def _broken(name: str, found: Format, why: str) -> InvalidArgs:
    return InvalidArgs(
        f"{name!r} begins like a {found.name} picture, but cannot be decoded: {why}",
        "Check the file; it may have been cut short.",
    )


def _needs_library(name: str, found: Format, size: Size | None, limits: ImageLimits) -> WhenceError:
    what = f"is a {found.name} picture" + (f" of {size[0]}×{size[1]} pixels" if size else "")
    return Unavailable(
        f"{name!r} {what}; scaling and converting needs Pillow, which is not installed",
        f"Install the extra: pip install whence[image], or give a PNG, JPEG, GIF or WebP picture of"
        f" at most {limits.edge} pixels a side and {limits.sent_bytes} bytes.",
        recoverable=False,
    )
