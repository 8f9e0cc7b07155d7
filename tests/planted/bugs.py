"""The bugs: one piece of text of one file each, replaced in a copy of the package, and the test that must fail then.

Those of the fold are in tests/test_mutations.py, those that show only between devices in tests/simulator.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.planting import Bug


@dataclass(frozen=True)
class Planted:
    """A bug, and the test that catches it: ``file::test`` under tests/, or the options of ``python -m tests.power``."""

    bug: Bug
    caught_by: str


POWER = "power: "
PLANTED = (
    Planted(
        Bug("commits are not synced", "replica/driver.py", '"PRAGMA synchronous = FULL"', '"PRAGMA synchronous = OFF"'),
        f"{POWER}--seed 1 --runs 1",
    ),
    Planted(
        Bug("commits wait for the next checkpoint", "replica/driver.py", "synchronous = FULL", "synchronous = NORMAL"),
        f"{POWER}--seed 1 --runs 1",
    ),
    Planted(
        Bug("a rollback journal is not synced", "replica/driver.py", "synchronous = EXTRA", "synchronous = OFF"),
        f"{POWER}--seed 11 --runs 1",
    ),
    Planted(
        Bug(
            "a write is told before it is committed",
            "replica/connection.py",
            '            self._patiently(lambda: self._connection.execute("COMMIT"))\n        except FAILURES',
            "            pass\n        except FAILURES",
        ),
        "test_memory.py::test_every_verb_has_its_receipt",
    ),
    Planted(
        Bug(
            "what follows a transaction that SQLite ended is written",
            "replica/connection.py",
            "return self.in_transaction and not self._connection.in_transaction",
            "return False",
        ),
        "replica/test_transactions.py::test_what_follows_in_a_transaction_that_sqlite_ended_is_not_written",
    ),
    Planted(
        Bug(
            "a child of a fork goes on with its parent's connection",
            "replica/connection.py",
            "if self._environment.process_id() != self._process:",
            "if False:",
        ),
        "test_limits.py::test_a_memory_that_was_opened_before_a_fork_is_refused_in_the_child",
    ),
    Planted(
        Bug(
            "nobody looks whether the log is still there",
            "replica/connection.py",
            'or self._files[1] not in ("", files[1])',
            "or False",
        ),
        "test_faults_on_disk.py::test_a_second_sqlite_library_in_the_process_stops_its_writes_and_loses_none",
    ),
    Planted(
        Bug(
            "a file that was replaced is written",
            "replica/connection.py",
            'if files[0] != self._files[0] or self._files[1] not in ("", files[1]):',
            "if False:",
        ),
        "test_limits.py::test_a_file_replaced_while_it_is_open_is_not_written",
    ),
    Planted(
        Bug(
            "a lock is told as damage",
            "replica/connection.py",
            '"SQLITE_BUSY": (Busy',
            '"SQLITE_BUSY": (Damaged',
        ),
        "test_limits.py::test_a_locked_file_is_busy_after_the_waiting_time",
    ),
    Planted(
        Bug("a full disk is damage", "replica/connection.py", '"SQLITE_FULL": (DiskFull', '"SQLITE_FULL": (Damaged'),
        "test_faults_on_disk.py::test_a_full_file_system_refuses_writes_loses_nothing_and_goes_on_once_there_is_room",
    ),
    Planted(
        Bug("an affected SQLite writes ahead", "replica/driver.py", "if driver().wal_safe and _turned", "if _turned"),
        "replica/test_driver.py::test_an_affected_library_keeps_a_rollback_journal_and_syncs_the_folder_too",
    ),
    Planted(
        Bug("what is deleted is not overwritten", "replica/driver.py", '"secure_delete = ON"', '"secure_delete = OFF"'),
        "replica/test_driver.py::test_a_new_file_has_the_setting_in_force",
    ),
    Planted(
        Bug(
            "an erased text stays between the rows",
            "replica/scrubbing.py",
            "                    self._db.rewrite()\n",
            "",
        ),
        "test_scrubbing.py::test_what_another_process_erases_while_one_scrubs_is_scrubbed_too",
    ),
    Planted(
        Bug(
            "the log keeps an erased text",
            "replica/scrubbing.py",
            "elif self._db.empty_log() and self._drop_damaged():",
            "elif self._drop_damaged():",
        ),
        "test_erasure.py::test_no_byte_is_left_in_any_file",
    ),
    Planted(
        Bug(
            "what is erased is let in again",
            "replica/erasures.py",
            "return any(self.acts(erasure) and not self._seen(position, erasure) for erasure in erasures)",
            "return False",
        ),
        "test_erasure.py::test_what_arrives_erased_is_never_in_a_file",
    ),
    Planted(
        Bug(
            "an old file goes on as who it was",
            "replica/identity.py",
            "if any(held.get(log, 0) < seq for log, seq in side.marks.items()):",
            "if False:",
        ),
        "test_faults_on_disk.py::test_a_rotten_frame_of_the_log_cuts_it_short_and_no_place_is_used_twice",
    ),
    Planted(
        Bug(
            "what leaves is not noted outside the file",
            "replica/identity.py",
            "        if own != identity.marks:\n",
            "        if False:\n",
        ),
        "test_faults_on_disk.py::test_a_rotten_frame_of_the_log_cuts_it_short_and_no_place_is_used_twice",
    ),
    Planted(
        Bug(
            "a copy goes on as who it was copied from",
            "replica/identity.py",
            "if side.file != self._environment.disk.identity(self._db.path):",
            "if False:",
        ),
        "test_processes.py::test_a_copied_file_is_another_device",
    ),
    Planted(
        Bug(
            "the doctor does not fold again",
            "replica/soundness.py",
            "    return held == again\n",
            "    return True\n",
        ),
        "test_repair.py::test_what_was_damaged_returns_and_all_is_as_it_had_been",
    ),
    Planted(
        Bug("chains are not looked at", "replica/soundness.py", "if head != log.head or not signed", "if False"),
        "test_faults_on_disk.py::test_an_event_that_is_not_what_was_signed_is_told",
    ),
    Planted(
        Bug(
            "the checksum of an event is not looked at",
            "replica/runs.py",
            "if checksum(position, count, tx, body) != crc:",
            "if False:",
        ),
        "test_repair.py::test_what_was_damaged_returns_and_all_is_as_it_had_been",
    ),
    Planted(
        Bug(
            "what is said again counts beside what it stands for",
            "replica/moves.py",
            "                copies[ref].append(ref)\n",
            "                pass\n",
        ),
        "test_repair.py::test_what_was_said_again_and_returns_all_the_same_counts_once",
    ),
    Planted(
        Bug(
            "a damaged file outlives an erasure",
            "replica/replica.py",
            "self.scrubber.mark(n, erased=True)",
            "self.scrubber.mark(n)",
        ),
        "test_repair.py::test_what_is_erased_later_goes_from_the_damaged_file_too",
    ),
    Planted(
        Bug(
            "a belief is handed out whatever its claim says",
            "replica/reading.py",
            "if not isinstance(said, Statement) or (said.predicate, to_stored(repack(said.value))) != shown:\n",
            "if False:\n",
        ),
        "test_inspection.py::test_a_belief_that_rotted_is_not_handed_out_when_it_is_first_read",
    ),
    Planted(
        Bug(
            "a past belief is handed out whatever its statements say",
            "asking.py",
            "if view.n is not None and slot.id and self._reading.to_recheck:",
            "if False:",
        ),
        "test_inspection.py::test_a_past_belief_that_rotted_is_not_handed_out_when_it_is_first_read",
    ),
    Planted(
        Bug(
            "a reading is several looks at the file",
            "replica/connection.py",
            "if self.in_transaction or self._in_snapshot:",
            "if True:",
        ),
        "test_reading_beside_writers.py::test_at_whatever_moment_another_process_writes_an_answer_is_of_before_or_after",
    ),
    Planted(
        Bug(
            "copies of what was dropped stay",
            "sync/blob_files.py",
            "self.dropped & (self.blobs.keys() | self.copied)",
            "self.dropped & self.blobs.keys()",
        ),
        "mailbox/test_folder.py::"
        "test_a_copy_of_a_dropped_blob_that_a_sync_service_brings_later_goes_when_the_folder_is_looked_at",
    ),
    Planted(
        Bug(
            "a newer file is opened",
            "replica/schema.py",
            "if found > SCHEMA_VERSION:",
            "if False:",
        ),
        "test_limits.py::test_a_newer_file_is_refused_and_not_changed",
    ),
    Planted(
        Bug(
            "a restore moves the old file away before the new one is there",
            "files.py",
            "        os.link(file, name)\n",
            "        os.replace(file, name)\n",
        ),
        "test_faults_on_disk.py::test_a_restore_that_dies_at_any_moment_leaves_the_old_memory_or_the_new_one",
    ),
    Planted(
        Bug(
            "a restore leaves the log of what it replaces unread",
            "files.py",
            "                opened(str(target), key).close()\n",
            "                pass\n",
        ),
        "test_faults_on_disk.py::test_a_restore_that_dies_at_any_moment_leaves_the_old_memory_or_the_new_one",
    ),
    Planted(
        Bug("files are everybody's", "private.py", "FILE_MODE: Final = 0o600", "FILE_MODE: Final = 0o644"),
        "test_private.py::test_every_file_and_folder_is_the_owners_alone",
    ),
    Planted(
        Bug("a cloud folder is fine", "opened.py", "    if service is not None:\n", "    if False:\n"),
        "test_cloud_folders.py::test_a_folder_of_the_service_is_refused_by_its_name_and_stays_empty",
    ),
    Planted(
        Bug(
            "a blob is what lies under its name",
            "sync/folder.py",
            "return blob if blob is not None and digest(blob) == name.digest else None",
            "return blob",
        ),
        "mailbox/test_folder.py::test_one_file_that_is_not_right_is_passed_over_and_comes_once_it_is",
    ),
    Planted(
        Bug(
            "a folder that is not there is empty",
            "sync/folder.py",
            "            if epoch not in self._epochs(box):\n",
            "            if False:\n",
        ),
        "mailbox/test_folder.py::test_a_folder_that_goes_away_while_it_is_read_is_unreachable_and_not_empty",
    ),
    Planted(
        Bug(
            "messages are salted with what repeats",
            "seal/envelope.py",
            "drawn = randomness(RANDOM_BYTES) + sha256(bound).digest() + sha256(padded).digest()",
            "drawn = sha256(bound).digest()",
        ),
        "seal/test_envelope.py::test_a_stuck_source_of_randomness_gives_each_message_and_place_a_key_of_its_own",
    ),
    Planted(
        Bug("sizes are told", "seal/envelope.py", "    return (length + mask) & ~mask\n", "    return length\n"),
        "seal/test_envelope.py::test_lengths_are_few_and_cost_little",
    ),
    Planted(
        Bug(
            "a mailbox may move a blob to another name",
            "sync/incoming.py",
            "if self._key.stream(log.id) != name.stream or blob.counter != name.counter:",
            "if False:",
        ),
        "sync/test_hostile_mailbox.py::test_blobs_that_nobody_wrote_there_are_refused_and_hide_nothing",
    ),
    Planted(
        Bug(
            "frames of other scopes are taken in",
            "sync/incoming.py",
            "if frame.key.scope != self._key.scope:",
            "if False:",
        ),
        "sync/test_hostile_members.py::test_a_frame_of_a_scope_that_is_not_the_mailboxs_is_refused",
    ),
    Planted(
        Bug(
            "a relay's certificate may be anybody's",
            "sync/http.py",
            "verify=_trusted(address) if verify is True else verify,",
            "verify=False,",
        ),
        "mailbox/test_http.py::test_a_certificate_counts_only_if_it_is_trusted_and_for_this_host",
    ),
    Planted(
        Bug(
            "a stretch of a timeline has in it what ends where it begins",
            "replica/reading.py",
            "AND valid_from < ?{two} AND valid_to > ?{one}",
            "AND valid_from < ?{two} AND valid_to >= ?{one}",
        ),
        "test_stretches.py::test_a_stretch_of_a_timeline_is_the_part_of_it_that_holds_there",
    ),
    Planted(
        Bug(
            "of many statements only the nearest are weighed, and not those that still reach the moment",
            "replica/stretch.py",
            "standing = _standing(rows[:begun], self._instant)[-NEAR:]",
            "standing = _standing([], self._instant)",
        ),
        "test_stretches.py::test_a_slot_of_thousands_of_claims_is_outlined_and_its_reasons_are_few",
    ),
    Planted(
        Bug(
            "a page about one name tells what a recall had found of others",
            "view/export.py",
            "if claim.belief is not None and claim.belief.entity == entity",
            "if claim.belief is not None",
        ),
        "view/test_export.py::test_a_page_about_one_name_tells_of_nobody_else",
    ),
)
