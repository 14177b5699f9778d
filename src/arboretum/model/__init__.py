"""Files: the model file."""

from __future__ import annotations

from arboretum.model.model_file import (
    FORMAT_VERSION,
    ModelFileError,
    fingerprint,
    from_bytes,
    load,
    save,
    to_bytes,
)

__all__ = ["FORMAT_VERSION", "ModelFileError", "fingerprint", "from_bytes", "load", "save", "to_bytes"]
