"""Sessions of the OpenAI Agents SDK: run by its own runner with a scripted model, and on two devices."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem import AsyncMemory, Environment, InvalidInput, ManualClock, Memory, english
from syncmem.integrations.openai_agents import Session


def said(text: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text}


INSTALL = "pip install 'syncmem[integration-tests]'"
CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Lisbon"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "sun " * 40_000}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None) as opened:
        yield opened


def test_items_come_back_as_they_were_in_their_order(memory: Memory) -> None:
    items = [
        said("Hello"),
        said("Hello"),
        said(""),
        CALL,
        OUTPUT,
        said("Sunny\ud800", "assistant"),
        said("Bye", "user"),
    ]

    async def main() -> None:
        session = Session("chat", memory, user="ana")
        await session.add_items(items[:4])
        await session.add_items(items[4:])
        await Session("other", memory).add_items([said("elsewhere")])
        memory.observe("Said beside the session.", conversation="chat", speaker="ana")
        assert await session.get_items() == items
        assert await session.get_items(2) == items[-2:]
        assert await session.get_items(0) == []
        assert await session.get_items(99) == items

    asyncio.run(main())


def test_what_is_popped_or_cleared_is_not_listed_and_still_there(memory: Memory) -> None:
    async def main() -> None:
        session = Session("chat", memory)
        await session.add_items([said("one"), said("two"), said("three")])
        episodes = memory.episodes(conversation="chat")
        assert await session.pop_item() == said("three")
        assert await session.get_items() == [said("one"), said("two")]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        assert [memory.episode_text(each.id) for each in episodes] == ["one", "two", "three"]
        await session.add_items([said("anew")])
        assert await session.get_items() == [said("anew")]

    asyncio.run(main())


def test_a_failed_addition_adds_nothing(memory: Memory) -> None:
    async def main() -> None:
        session = Session("chat", memory)
        with pytest.raises(InvalidInput):
            await session.add_items([said("one"), {"role": "user", "content": object()}])
        assert await session.get_items() == []

    asyncio.run(main())


def test_what_the_user_said_can_be_extracted_and_is_erased_with_them(memory: Memory) -> None:
    memory.define_pack("personal")

    async def main() -> None:
        session = Session("chat", memory, user="ana")
        await session.add_items([said("I live in Lisbon."), CALL, {**OUTPUT, "output": "sun"}])
        turn, *_ = memory.episodes(speaker="ana")
        memory.extract(turn.id, english, version=1)
        winner = memory.why("ana", "home_city").winner
        assert winner is not None and winner.quote == "I live in Lisbon." and winner.trust == 90
        memory.erase("ana")
        assert await session.get_items() == []

    asyncio.run(main())


def test_an_async_memory_serves_as_well(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncMemory(tmp_path / "memory.db") as memory:
            session = Session("chat", memory)
            await session.add_items([said("Hello")])
            assert await session.pop_item() == said("Hello")

    asyncio.run(main())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABmp"), st.integers(-2, 3)), max_size=12))
def test_two_devices_show_one_order_whatever_their_clocks(steps: list[tuple[str, int]]) -> None:
    clocks = [ManualClock(1_750_000_000_000_000), ManualClock(1_750_000_000_000_000 - 90_000_000)]
    devices = [Memory(":memory:", embedder=None, environment=Environment(clock=clock)) for clock in clocks]
    sessions = [Session("chat", device) for device in devices]

    async def main() -> None:
        seen: list[Any] = []
        for number, (step, shift) in enumerate(steps):
            clocks[number % 2].time += shift  # clocks that stand still or go back
            which = number % 2 if step == "p" else "AB".find(step)
            if step == "m":
                devices[0].merge(devices[1])
                devices[1].merge(devices[0])
            elif step == "p":
                popped = await sessions[which].pop_item()
                seen = [each for each in seen if each != popped]
            else:
                before = await sessions[which].get_items()
                await sessions[which].add_items([said(f"{number}"), said(f"{number} again")])
                assert await sessions[which].get_items() == [*before, said(f"{number}"), said(f"{number} again")]
                seen += [said(f"{number}"), said(f"{number} again")]
        devices[0].merge(devices[1])
        devices[1].merge(devices[0])
        shown = [await session.get_items() for session in sessions]
        assert shown[0] == shown[1]
        assert sorted(map(str, shown[0])) == sorted(map(str, seen))

    try:
        asyncio.run(main())
    finally:
        for device in devices:
            device.close()


def test_an_item_added_elsewhere_while_the_session_is_cleared_stays(memory: Memory) -> None:
    async def main() -> None:
        with Memory(":memory:", embedder=None) as phone:
            here, there = Session("chat", memory), Session("chat", phone)
            await here.add_items([said("one")])
            phone.merge(memory)
            await here.clear_session()
            await there.add_items([said("two")])
            memory.merge(phone)
            phone.merge(memory)
            assert await here.get_items() == await there.get_items() == [said("two")]

    asyncio.run(main())


def test_the_runner_of_the_sdk_goes_on_with_the_session_on_another_device(tmp_path: Path) -> None:
    agents = pytest.importorskip("agents", reason=INSTALL)
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    heard: list[list[Any]] = []

    class Scripted(agents.Model):  # type: ignore[misc, name-defined]
        """Answers with how many items it was given."""

        async def get_response(self, *, input: Any, **given: Any) -> Any:
            heard.append(input if isinstance(input, list) else [said(input)])
            text = ResponseOutputText(text=f"answer to {len(heard[-1])}", type="output_text", annotations=[])
            parts = {"id": f"m{len(heard)}", "role": "assistant", "status": "completed", "type": "message"}
            message = ResponseOutputMessage(content=[text], **parts)
            return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)

        def stream_response(self, *given: Any, **rest: Any) -> Any:
            raise NotImplementedError

    async def main() -> None:
        agent = agents.Agent(name="helper", model=Scripted())
        config = agents.RunConfig(tracing_disabled=True)
        with Memory(tmp_path / "laptop.db") as laptop, Memory(tmp_path / "phone.db") as phone:
            here, there = Session("chat", laptop, user="ana"), Session("chat", phone, user="ana")
            assert isinstance(here, agents.Session)
            first = await agents.Runner.run(agent, "Hello", session=here, run_config=config)
            assert first.final_output == "answer to 1"
            phone.merge(laptop)
            second = await agents.Runner.run(agent, "And then?", session=there, run_config=config)
            assert second.final_output == "answer to 3"
            assert [item["role"] for item in heard[-1]] == ["user", "assistant", "user"]
            few = Session("chat", phone, session_settings=agents.SessionSettings(limit=1))
            assert len(await few.get_items()) == 1
            laptop.merge(phone)
            assert await here.get_items() == await there.get_items()
            assert len(await here.get_items()) == 4

    asyncio.run(main())


def test_the_session_is_importable_without_the_sdk() -> None:
    code = (
        "import sys; import syncmem.integrations.openai_agents; print('agents' in sys.modules, 'openai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
