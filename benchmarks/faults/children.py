"""Work in a fork of this process, which may crash or hang there."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0  # seconds until a child counts as hung


def in_child(work: Callable[[], Any]) -> tuple[int, Any, str]:
    """Exit status (negative: signal), answer and standard error of a fork that does the work."""
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            faulthandler.enable(errors.fileno())
            status = 1
            try:
                json.dump(work(), answer)
                answer.flush()
                status = 0
            except BaseException:
                traceback.print_exc(file=errors)
                errors.flush()
            finally:
                os._exit(status)
        status = wait_for(child)
        errors.seek(0)
        answer.seek(0)
        return status, json.load(answer) if status == 0 else None, errors.read()


def wait_for(child: int) -> int:
    """Exit status of a child; one that hangs is killed."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL
