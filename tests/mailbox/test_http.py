"""What may stand where a relay should be, or between: told in the right words, and nothing has changed."""

from __future__ import annotations

import contextlib
import itertools
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from syncmem import InvalidInput
from syncmem.environment import Environment, SystemClock
from syncmem.errors import MailboxError, MailboxRefused, OverQuota, Unreachable
from syncmem.seal.keys import public_key
from syncmem.sync.http import TRIES_MAX, Http
from syncmem.sync.http_answers import ANSWER_BYTES_MAX
from syncmem.wire.mailbox import Answer, BlobName, Outcome, Put, PutResult, digest
from syncmem.wire.messages import CONTENT_TYPE, NOT_THERE, answer_bytes, read_get
from tests.mailbox.scripted import Cutting, Scripted, slowly
from tests.mailbox.serving import ask, drop, new_key, running

ONE = b"stream 1"
KEY = new_key()
EPOCH = b"e" * 16
GOOD = answer_bytes(Answer(EPOCH, [], {}, [], False))


class Impatient(SystemClock):
    """Notes what it is asked to wait, and does not."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


def box_at(address: str, clock: SystemClock | None = None, **more: object) -> Http:
    return Http(address, environment=Environment(clock=clock or Impatient()), **more)  # type: ignore[arg-type]


def http(status: str, body: bytes = b"", *headers: str, kind: str = CONTENT_TYPE, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {length or len(body)}", *headers]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode() + body


TOMORROW = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)
ONCE, AGAIN = 1, TRIES_MAX


@pytest.mark.parametrize(
    ("answer", "kind", "words", "tries"),
    [
        (http("200 OK", b"<html>Welcome to the hotel", kind="text/html"), Unreachable, "sign in to the network", ONCE),
        (http("200 OK", GOOD, kind="application/octet-stream"), Unreachable, "check the address", ONCE),
        (http("200 OK", GOOD, kind=f"{CONTENT_TYPE}-other"), Unreachable, "check the address", ONCE),
        (http("200 OK", GOOD, "content-encoding: gzip"), Unreachable, "check the address", ONCE),
        (http("302 Found", b"", "location: http://login.example/"), Unreachable, "sends elsewhere.*sign in", ONCE),
        (http("308 Permanent Redirect", b"", "location: https://new.example/"), Unreachable, "new.example", ONCE),
        (http("404 Not Found", b"?", kind="text/plain"), Unreachable, "status 404.*check the address", ONCE),
        (http("511 Network Authentication Required", b"", kind="text/html"), Unreachable, "sync again later", AGAIN),
        (http("200 OK", GOOD[:-1]), Unreachable, "does not answer as a relay.*check the address", ONCE),
        (http("200 OK", b""), Unreachable, "check the address", ONCE),
        (http("200 OK", GOOD, length=len(GOOD) + 1), Unreachable, "sync again later", AGAIN),
        (http("200 OK", GOOD)[:30], Unreachable, "sync again later", AGAIN),
        (b"", Unreachable, "sync again later", AGAIN),
        (b"SSH-2.0-OpenSSH_9\r\n", Unreachable, "sync again later", AGAIN),
        (http("403 Forbidden", b"not signed; join again"), MailboxRefused, "not signed; join again", ONCE),
        (http("400 Bad Request", b"\x1b[31mred\xff"), MailboxRefused, r"refused: \[31mred", ONCE),
        (http("408 Request Timeout", b"too slow; again"), Unreachable, "too slow; again", AGAIN),
        (http("413 Content Too Large", b"send less"), OverQuota, "send less", ONCE),
        (http("500 Internal Server Error", b"?", kind="text/plain"), Unreachable, "sync again later", AGAIN),
        (http("502 Bad Gateway", b"?", kind="text/html"), Unreachable, "sync again later", AGAIN),
        (http("503 Service Unavailable", b"damaged; tell them"), Unreachable, "damaged; tell them", AGAIN),
    ],
)
def test_what_is_not_the_answer_of_a_relay_is_told_with_the_next_step(
    answer: bytes, kind: type[MailboxError], words: str, tries: int
) -> None:
    with Scripted(answer) as server, contextlib.closing(box_at(server.address)) as box:
        with pytest.raises(kind, match=words) as caught:
            ask(box, KEY)
        assert type(caught.value) is kind
        assert "\x1b" not in str(caught.value)
        assert len(server.requests) == tries


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable", "507 Insufficient Storage"])
@pytest.mark.parametrize(
    ("told", "least", "most"),
    [("120", 120, 120), (TOMORROW, 80_000, 86_400), ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0)],
    ids=["in seconds", "at a time", "at a time gone by"],
)
def test_who_is_asked_to_come_later_is_told_when(status: str, told: str, least: float, most: float) -> None:
    answer = http(status, b"no; later", f"retry-after: {told}")
    with Scripted(answer) as server, contextlib.closing(box_at(server.address)) as box:
        with pytest.raises(OverQuota, match="no; later") as caught:
            ask(box, KEY)
        assert caught.value.retry_after is not None
        assert least <= caught.value.retry_after <= most
        assert len(server.requests) == (1 if most else TRIES_MAX)  # a few seconds are waited for


@pytest.mark.parametrize("told", ["soon", "-5", "nan", "1e999", "²", ""])
def test_a_time_that_is_none_is_no_time(told: str) -> None:
    answer = http("429 Too Many Requests", b"", f"retry-after: {told}".encode().decode("latin-1"), kind="text/html")
    with Scripted(answer) as server, contextlib.closing(box_at(server.address)) as box:
        with pytest.raises(OverQuota, match="asked too often; sync again later") as caught:
            ask(box, KEY)
        assert caught.value.retry_after is None


def test_answers_that_do_not_fit_the_question_are_no_answers() -> None:
    results = [PutResult(Outcome.STORED, "")] * 2
    answer = http("200 OK", answer_bytes(Answer(EPOCH, results, {}, [], False)))
    with (
        Scripted(answer) as server,
        contextlib.closing(box_at(server.address)) as box,
        pytest.raises(Unreachable, match="2 things where 1 were asked"),
    ):
        ask(box, KEY, Put(ONE, 1, b"x"))


def test_an_answer_without_an_end_is_not_read_to_its_end() -> None:
    endless = itertools.chain(
        [f"HTTP/1.1 200 OK\r\ncontent-type: {CONTENT_TYPE}\r\n\r\n".encode()], itertools.repeat(bytes(1 << 20))
    )
    with (
        Scripted(endless) as server,
        contextlib.closing(box_at(server.address)) as box,
        pytest.raises(Unreachable, match="without an end"),
    ):
        ask(box, KEY)
    assert ANSWER_BYTES_MAX < 8 << 20


def test_an_answer_that_drips_is_given_up() -> None:
    start = f"HTTP/1.1 200 OK\r\ncontent-type: {CONTENT_TYPE}\r\ncontent-length: 1000\r\n\r\n".encode()
    answers = [slowly(itertools.chain([start], itertools.repeat(b"x", 100)), 0.05) for _ in range(TRIES_MAX)]
    with (
        Scripted(*answers) as server,
        contextlib.closing(box_at(server.address, answer_seconds=0.4)) as box,
        pytest.raises(Unreachable, match="too slowly; sync again"),
    ):
        ask(box, KEY)


def test_a_server_that_says_nothing_is_given_up() -> None:
    answers = [slowly(iter([b"", b""]), 1.0) for _ in range(TRIES_MAX)]
    with (
        Scripted(*answers) as server,
        contextlib.closing(box_at(server.address, answer_seconds=0.2)) as box,
        pytest.raises(Unreachable, match="sync again later"),
    ):
        ask(box, KEY)


def test_one_failure_is_tried_again_after_a_wait_that_differs_between_devices() -> None:
    clock = Impatient()
    bad, good = http("502 Bad Gateway", b"", kind="text/html"), http("200 OK", GOOD)
    for _ in range(2):
        with Scripted(bad, bad, good) as server, contextlib.closing(box_at(server.address, clock)) as box:
            assert ask(box, KEY).epoch == EPOCH
    first, second, third, fourth = clock.waited
    assert 1 <= first <= 2 <= second <= 4
    assert (first, second) != (third, fourth)


def test_no_relay_can_mark_a_device_with_a_cookie() -> None:
    answer = http("200 OK", GOOD, "set-cookie: you=7; Max-Age=999999", "set-cookie: session=8")
    with Scripted(answer) as server, contextlib.closing(box_at(server.address)) as box:
        ask(box, KEY)
        ask(box, KEY)
        assert len(server.requests) == 2
        assert not any(b"cookie" in request.lower() for request in server.requests)


@pytest.mark.parametrize("address", ["http://", "https://[::1", "http://host:port", "http://a b"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    with (
        pytest.raises((InvalidInput, Unreachable), match="address|cannot be reached"),
        contextlib.closing(box_at(address)) as box,
    ):
        ask(box, KEY)


# -- answers that break off -------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [0, 1, 60, 140, -1])
def test_a_question_whose_answer_was_lost_is_asked_again_and_nothing_happens_twice(tmp_path: Path, cut: int) -> None:
    key, seed = new_key(), b"d" * 32
    name = BlobName(ONE, 1, digest(b"first"))
    with running(tmp_path) as relay, Cutting(relay.port, cut, cut) as way:
        box = box_at(way.address)
        assert ask(box, key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.KNOWN  # the answer lost was "stored"
        way.cuts = [cut, cut]
        assert dict(box.get(key.write_key, key.write_seed, [name])) == {name: b"first"}
        ask(box, key, drop_key=public_key(seed))
        way.cuts = [cut, cut]
        assert drop(box, key, [name], "erase", seed) == [True]
        box.close()


def test_blobs_that_break_off_go_on_where_they_stopped() -> None:
    blobs = {BlobName(ONE, n, digest(bytes([n]) * 1000)): bytes([n]) * 1000 for n in range(1, 6)}
    names = list(blobs)

    def told(*wanted: BlobName) -> bytes:
        pieces = [len(blobs[name]).to_bytes(4, "big") + blobs[name] for name in wanted]
        return http("200 OK", b"".join(pieces))

    broken = told(*names)[:-2500]  # two whole blobs and half a third
    with Scripted(broken, told(*names[2:]), reset=False) as server:
        box = box_at(server.address)
        assert list(box.get(KEY.write_key, KEY.write_seed, names)) == list(blobs.items())
        box.close()
        bodies = [request.partition(b"\r\n\r\n")[2] for request in server.requests]
        assert [read_get(body)[1] for body in bodies] == [names, names[2:]]


def test_blobs_that_are_not_what_was_asked_for_or_too_large_are_not_taken() -> None:
    name, other = BlobName(ONE, 1, digest(b"first")), BlobName(ONE, 2, digest(b"second"))
    length = len(b"other").to_bytes(4, "big")
    answer = http("200 OK", length + b"other" + NOT_THERE.to_bytes(4, "big"))
    with Scripted(answer) as server:
        box = box_at(server.address)
        assert list(box.get(KEY.write_key, KEY.write_seed, [name, other])) == [(name, None), (other, None)]
        box.close()
    with Scripted(http("200 OK", (0xFFFFFFF0).to_bytes(4, "big") + b"x" * 100)) as server:
        box = box_at(server.address)
        with pytest.raises(Unreachable, match="more than a blob can be"):
            list(box.get(KEY.write_key, KEY.write_seed, [name]))
        box.close()


# -- TLS --------------------------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate and its key for 127.0.0.1 that nobody trusts by itself."""
    import ipaddress

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a relay of one's own")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    path = tmp_path / "relay.pem"
    path.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_a_certificate_counts_only_if_it_is_trusted_and_for_this_host(certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with Scripted(http("200 OK", GOOD), tls=serving) as server:
        address = server.address.replace("http:", "https:")
        with contextlib.closing(box_at(address, verify=trusting)) as box:
            assert ask(box, KEY).epoch == EPOCH
        for wrong in (box_at(address), box_at(address.replace("127.0.0.1", "localhost"), verify=trusting)):
            with contextlib.closing(wrong), pytest.raises(Unreachable, match="no trusted connection.*certificate"):
                ask(wrong, KEY)
        assert len(server.requests) == 1  # nothing was said to who could not be trusted


def test_a_relay_without_tls_is_told_over_https(tmp_path: Path) -> None:
    key = new_key()
    with running(tmp_path) as relay:
        with (
            contextlib.closing(box_at(relay.address.replace("http:", "https:"))) as box,
            pytest.raises(Unreachable, match="no trusted connection"),
        ):
            ask(box, key, Put(ONE, 1, b"x"))
        with contextlib.closing(box_at(relay.address)) as box:
            assert ask(box, key).ends == {}
