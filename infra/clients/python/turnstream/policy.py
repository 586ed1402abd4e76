"""Describes the weights of a version: URI, hash, and format."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypedDict
from urllib.parse import unquote, urlsplit

_FORMATS = {".safetensors": "hf-safetensors", ".gguf": "gguf"}
_PIECE = 1 << 20


class PolicyFile(TypedDict):
    """One file in a folder of weights."""

    name: str
    sha256: str


class _PolicyParts(TypedDict):
    uri: str
    sha256: str
    format: str
    bytes: int
    loadable: bool


class Policy(_PolicyParts, total=False):
    """Description of weights for a commit."""

    manifest: list[PolicyFile]


def weights(uri: str, *, sha256: str | None = None, format: str | None = None, bytes: int = 0, loadable: bool = True) -> Policy:
    """Describes weights. Local files (`file:` URIs) are read and hashed; other URIs need `sha256` and `format`.

    `format` is any name that your engines know, such as `hf-safetensors`, `peft-lora`, or `gguf`. It follows from the names of
    `*.safetensors` and `*.gguf` files.

    Set `loadable` to False if engines cannot load the weights from the URI because the trainer pushes them.
    """
    path = _path_of(uri)
    if path is None or sha256 is not None:
        if sha256 is None or format is None:
            raise ValueError(f"{uri} cannot be read from here: pass sha256 and format")
        return {"uri": uri, "sha256": sha256, "format": format, "bytes": bytes, "loadable": loadable}
    if path.is_dir():
        return _folder(uri, path, format, loadable)
    kind = format or _FORMATS.get(path.suffix)
    if kind is None:
        raise ValueError(f"{uri}: only the names {' and '.join(_FORMATS)} have a known format; pass format, such as 'engine-pushed'")
    return {"uri": uri, "sha256": _hash(path), "format": kind, "bytes": path.stat().st_size, "loadable": loadable}


def _folder(uri: str, path: Path, format: str | None, loadable: bool) -> Policy:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    manifest: list[PolicyFile] = [{"name": file.relative_to(path).as_posix(), "sha256": _hash(file)} for file in files]
    whole = hashlib.sha256("".join(f"{one['sha256']}  {one['name']}\n" for one in manifest).encode()).hexdigest()
    kind = format or ("peft-lora" if (path / "adapter_config.json").exists() else "hf-safetensors")
    size = sum(file.stat().st_size for file in files)
    return {"uri": uri, "sha256": whole, "format": kind, "bytes": size, "loadable": loadable, "manifest": manifest}


def _path_of(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = Path(unquote(parts.path))
    return path if path.exists() else None


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
