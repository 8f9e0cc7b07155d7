"""Driving a session: its questions go to a mailbox, the answers come back. The only place where both meet."""

from __future__ import annotations

from syncmem.sync.dropping import Fetch
from syncmem.sync.session import Session
from syncmem.wire.mailbox import Drop, Mailbox


def drive(session: Session, mailbox: Mailbox, key: bytes, write_seed: bytes) -> None:
    """Run a session to its end.

    Raises:
        MailboxError: the mailbox could not be reached or refused; what was done until then stays done.
    """
    steps = session.steps()
    try:
        question = next(steps)
        while True:
            if isinstance(question, Fetch):
                question = steps.send(mailbox.get(key, write_seed, question.names))
            elif isinstance(question, Drop):
                question = steps.send(mailbox.drop(question, write_seed))
            else:
                question = steps.send(mailbox.exchange(question, write_seed))
    except StopIteration:
        return
    finally:
        steps.close()
