"""Running a relay: its settings are checked before it starts, and what it tells names nobody."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from hmac import digest as hmac_digest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from syncmem.errors import InvalidInput
from syncmem.relay import waking
from syncmem.relay.config import load
from syncmem.relay.limits import MIB, Limits
from syncmem.relay.metrics import Metrics
from syncmem.wire.mailbox import Put
from tests.mailbox.serving import RelayProcess, RelayThread, ask_at, connected, head, new_key, process, running
from tests.sync.test_background import eventually

ONE = b"stream 1"


# -- settings -------------------------------------------------------------------------------------------


def test_the_command_line_outweighs_the_environment_and_that_the_file(tmp_path: Path) -> None:
    file = tmp_path / "relay.toml"
    limits_table = '[limits]\nmailbox_bytes_max = "2 GiB"\nstreams_max = 5\n'
    file.write_text('data = "here"\nport = 1\nhost = "10.0.0.1"\n' + limits_table)
    environment = {"PORT": "2", "HOST": "10.0.0.2", "LIMITS__STREAMS_MAX": "6"}
    environment = {f"SYNCMEM_RELAY_{name}": value for name, value in environment.items()}
    settings = load(file, environment, {"port": 3, "host": None, "limits": {"connections_max": None}})
    assert (settings.port, settings.host, settings.place) == (3, "10.0.0.2", "here")
    limits = settings.limit_values
    assert (limits.mailbox_bytes_max, limits.streams_max) == (2048 * MIB, 6)
    assert limits.connections_max == Limits().connections_max
    tokens = load(file, {"SYNCMEM_RELAY_TOKENS": f"{'a' * 20}, {'b' * 20}"}, {})
    assert tokens.token_values == ["a" * 20, "b" * 20]
    assert "aaaa" not in repr(tokens)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "name data, or store"),
        ('data = "x"\nstore = "postgres://x"', "name data, or store"),
        ('store = "mysql://user:word@host/name"', "store: it is no database of a relay; use postgres://"),
        ('data = "x"\nhots = "y"', r"hots: nobody knows this setting \(.*relay.toml\)"),
        ('data = "x"\n[limits]\nstreems_max = 1', "limits.streems_max: nobody knows this setting"),
        ('data = "x"\nport = 70000', "port: Input should be less than or equal to 65535"),
        ('data = "x"\ntls_cert = "a.pem"', "name tls_cert and tls_key, or neither"),
        ('data = "x"\ntokens = ["short"]', "a token has at least 16"),
        ('data = "x"\ntrusted_proxies = ["my-proxy"]', "trusted_proxies: .*does not appear to be an IPv4 or IPv6"),
        ('data = "x"\nmetrics = "9464"', "'9464' is no HOST:PORT"),
        ('data = "x"\nwake_url = "push.example.org"', "use https://HOST/PATH"),
        ('data = "x"\n[limits]\nmailbox_bytes_max = 0', "limits.mailbox_bytes_max: .*greater than 0"),
        ("data = ", "is no TOML"),
    ],
)
def test_a_setting_that_is_wrong_is_told_with_its_name_and_where_it_was_said(
    tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "relay.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=words):
        load(file, {}, {})


def test_everything_that_is_wrong_is_told_at_once_and_no_secret(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(None, {"SYNCMEM_RELAY_PORT": "x", "SYNCMEM_RELAY_TOKENS": "secret!"}, {"log": "loud", "data": "x"})
    said = str(caught.value)
    assert "port: " in said
    assert "(the environment)" in said
    assert "log: " in said
    assert "(the command line)" in said
    assert "secret!" not in said


def test_a_relay_starts_as_a_file_says_and_check_config_tells_beforehand(tmp_path: Path) -> None:
    file = tmp_path / "relay.toml"
    file.write_text(f'data = "{tmp_path / "data"}"\nlog = "json"\naccess_log = true\n[limits]\nmailbox_bytes_max = 5\n')
    command = [sys.executable, "-m", "syncmem", "relay"]
    checking = [*command, "check-config", "--config", str(file)]
    assert "The settings are right" in subprocess.run(checking, capture_output=True, text=True, check=True).stdout
    assert not (tmp_path / "data").exists()
    with process(tmp_path / "data", "--config", str(file)) as relay:
        key = new_key()
        (result,) = ask_at(relay.address, key, Put(ONE, 1, b"more than five")).results
        assert result.reason.startswith("this mailbox is full")
        _, said = relay.close()
    (line,) = map(json.loads, said.splitlines())
    assert line["path"] == "/v1/exchange"
    assert line["status"] == "200"
    assert all(secret not in said for secret in (key.mailbox.hex(), key.write_key.hex(), "127.0.0.1", "stream"))
    file.write_text('data = "x"\nlod = 3\n')
    wrong = subprocess.run([*command, "--config", str(file)], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert "lod: nobody knows this setting" in wrong.stderr


@pytest.mark.parametrize("what", ["certificate", "port"])
def test_what_cannot_be_used_is_told_and_nothing_starts(tmp_path: Path, what: str) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = {
            "certificate": ["--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "cert.pem")],
            "port": ["--port", str(taken.getsockname()[1])],
        }[what]
        command = [sys.executable, "-m", "syncmem", "relay", "--data", str(tmp_path / "data"), "--port", "0", *options]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    told = {"certificate": "check tls_cert and tls_key", "port": "choose another --host or --port"}
    assert told[what] in ended.stderr
    assert "Traceback" not in ended.stderr


# -- what it tells --------------------------------------------------------------------------------------


def got(address: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(address.partition("://")[2], timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_metrics_count_what_happens_and_name_nobody(tmp_path: Path) -> None:
    key = new_key()
    with running(tmp_path, metrics=Metrics(), shown=True) as relay:
        ask_at(relay.address, key, Put(ONE, 1, b"x" * 700), Put(ONE, 0, b"y"))
        got(relay.address, f"/{key.mailbox.hex()}")
        status, told = got(relay.address, "/metrics")
    assert status == 200
    assert 'syncmem_relay_requests_total{path="/v1/exchange",status="200"} 1.0' in told
    assert 'syncmem_relay_requests_total{path="another path",status="404"} 1.0' in told
    assert 'syncmem_relay_puts_total{outcome="stored"} 1.0' in told
    assert 'syncmem_relay_puts_total{outcome="malformed"} 1.0' in told
    assert "syncmem_relay_streams 0.0" in told
    assert re.search(r"^syncmem_relay_free_bytes \d", told, re.MULTILINE)
    assert all(secret not in told for secret in (key.mailbox.hex(), key.write_key.hex(), ONE.hex(), "127.0.0.1"))


def test_metrics_may_have_an_address_of_their_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = f"127.0.0.1:{free.getsockname()[1]}"
    with process(tmp_path, "--metrics", own) as relay:
        assert got(relay.address, "/metrics")[0] == 404
        assert "syncmem_relay_streams" in got(f"http://{own}", "/metrics")[1]
        assert got(f"http://{own}", "/v1/exchange")[0] == 404
        assert relay.close() == (0, "")


def test_health_is_of_the_process_and_ready_of_its_store(tmp_path: Path) -> None:
    with running(tmp_path / "data") as relay:
        assert [got(relay.address, path)[0] for path in ("/health", "/ready", "/healthz")] == [200, 200, 200]
        (tmp_path / "data" / "relay.db").rename(tmp_path / "elsewhere")
        assert [got(relay.address, path)[0] for path in ("/health", "/ready", "/healthz")] == [200, 503, 503]


def test_a_relay_that_is_told_to_stop_answers_the_request_that_it_is_at(tmp_path: Path) -> None:
    with process(tmp_path) as relay, contextlib.closing(opened(relay)) as slow:
        slow.sendall(head(5) + b"wh")
        eventually(lambda: got(relay.address, "/ready")[0] == 200)
        relay.process.terminate()
        threading.Timer(0.5, lambda: slow.sendall(b"ole")).start()
        answer = slow.recv(1000)
        assert answer.startswith(b"HTTP/1.1 400")
        assert relay.process.wait(30) == 0


def opened(relay: RelayProcess) -> socket.socket:
    host, _, port = relay.address.partition("://")[2].rpartition(":")
    return socket.create_connection((host, int(port)), 30)


def test_addresses_are_believed_only_from_proxies_that_are_trusted(tmp_path: Path) -> None:
    """Each address has two requests; from this machine, where a proxy would be, nobody is counted unless trusted."""
    strict = Limits(address_requests_second=1)

    def statuses(relay: RelayThread, client: str) -> set[bytes]:
        found = set()
        for _ in range(40):
            with connected(relay) as one:
                said = head(1).replace(b"host: x\r\n", f"host: x\r\nx-forwarded-for: {client}\r\n".encode()) + b"x"
                one.sendall(said)
                found.add(one.recv(1000).split(b" ")[1])
        return found

    with running(tmp_path / "a", strict) as relay:
        assert statuses(relay, "203.0.113.7") == {b"400"}
    with running(tmp_path / "b", strict, trusted_proxies=["127.0.0.1"]) as relay:
        assert statuses(relay, "203.0.113.7") == {b"400", b"429"}
        assert b"400" in statuses(relay, "2001:db8::1")
        assert statuses(relay, "2001:db8::2") == {b"429"}  # the same house
        assert b"400" in statuses(relay, "2001:db8:0:1::2")


# -- waking ---------------------------------------------------------------------------------------------


class Gateway:
    """Who wakes phones: keeps what it is told, and may fail at first."""

    def __init__(self, failures: int = 0) -> None:
        self.told: list[tuple[bytes, str]] = []
        gateway = self
        gateway.failures = failures

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                gateway.failures -= 1
                self.send_response(503 if gateway.failures >= 0 else 204)
                self.end_headers()
                if gateway.failures < 0:
                    gateway.told.append((body, self.headers["syncmem-signature"]))

            def log_message(self, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/wake"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(waking, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(waking, "RETRY_SECONDS", 0.05)
    yield


@pytest.mark.usefixtures("brisk")
@pytest.mark.parametrize("failures", [0, 2])
def test_who_wakes_phones_is_told_where_a_mailbox_is_and_nothing_else(tmp_path: Path, failures: int) -> None:
    key = new_key()
    with (
        contextlib.closing(Gateway(failures)) as gateway,
        running(tmp_path, wake_url=gateway.url, wake_secret="shared") as relay,
    ):
        position = ask_at(relay.address, key, Put(ONE, 1, os.urandom(900))).position
        eventually(lambda: bool(gateway.told))
        ask_at(relay.address, key)  # moves nothing
        ((body, signature),) = gateway.told
    assert json.loads(body) == {"mailbox": key.mailbox.hex(), "position": str(position)}
    assert signature == f"sha256={hmac_digest(b'shared', body, sha256).hex()}"


@pytest.mark.usefixtures("brisk")
def test_a_gateway_that_is_away_holds_up_nobody(tmp_path: Path) -> None:
    metrics = Metrics()
    with running(tmp_path, wake_url="http://127.0.0.1:9/wake", metrics=metrics, shown=True) as relay:
        for counter in range(1, 20):
            assert ask_at(relay.address, new_key(), Put(ONE, counter, b"x")).results[0].outcome == 0
        eventually(lambda: 'wakes_total{outcome="given up"} 19.0' in got(relay.address, "/metrics")[1])
