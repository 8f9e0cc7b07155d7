"""A server that speaks S3, over a real socket, in a process of its own: moto. Where it is not installed, tests skip."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import urllib.request

import pytest

SECONDS_MAX = 30
INSTALL = "pip install 'syncmem[storage-tests]' to run this test"
SERVER = """
import sys, time
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
"""


class Storage:
    """The server, and as many empty buckets as are asked for. Its keys are in this process's environment."""

    def __init__(self) -> None:
        if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
            pytest.skip(INSTALL)
        os.environ.update(AWS_ACCESS_KEY_ID="tester", AWS_SECRET_ACCESS_KEY="not a secret")
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        host, port = self._process.stdout.readline().split()
        self.endpoint = f"http://{host}:{port}"
        self._count = 0

    def bucket(self) -> str:
        """The address of a new bucket."""
        self._count += 1
        url = f"{self.endpoint}/bucket{self._count}"
        with urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=SECONDS_MAX):
            return f"s3://bucket{self._count}/some/prefix?endpoint={self.endpoint}&region=us-east-1"

    def close(self) -> None:
        self._process.communicate("", timeout=SECONDS_MAX)
