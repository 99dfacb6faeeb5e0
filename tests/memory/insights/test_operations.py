from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.memory import Insight, Operation, OperationKind
from experepair.domain.roles import Agent
from experepair.memory.insights.operations import Read, read_operations

TEST = (Insight("t1", 1, "Guard what may hang."),)
PATCH = (Insight("p1", 1, "Look at the base class."), Insight("p2", 2, "Keep the signature.", revision=7))
PRESENT = {Agent.TEST: TEST, Agent.PATCH: PATCH}


def read(*lines: object, fence: str = "json") -> Read:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    reply = f"The fix was found late, {{since}} …\n```{fence}\n{text}\n```\nThat is all."
    return read_operations(reply, PRESENT, most=4, longest=300)


def test_operations_are_read_by_agent_in_order() -> None:
    found = read(
        {
            "agent": "patch",
            "operation": "EDIT",
            "number": 2,
            "insight": "Keep the  signature,\nand the name.",
        },
        {"agent": "test", "operation": "add", "insight": "Print less."},
        {"agent": "patch", "operation": "REMOVE", "number": "1"},
    )
    assert found.operations == {
        Agent.PATCH: (
            Operation(OperationKind.EDIT, "Keep the signature, and the name.", PATCH[1]),
            Operation(OperationKind.REMOVE, "", PATCH[0]),
        ),
        Agent.TEST: (Operation(OperationKind.ADD, "Print less."),),
    }
    assert found.dropped == ()


def test_the_papers_own_form_is_read_too() -> None:
    found = read(
        {
            "tester_exps": [{"operation": "REMOVE", "number": "1", "experience": "Guard what may hang."}],
            "coder_exps": [{"operation": "ADD", "number": "3", "experience": "Mend the cause."}],
        }
    )
    assert found.operations == {
        Agent.TEST: (Operation(OperationKind.REMOVE, "", TEST[0]),),
        Agent.PATCH: (Operation(OperationKind.ADD, "Mend the cause."),),
    }


MALFORMED = {
    "cut short": ('{"agent": "test", "operation": "ADD", "insight": "It ends', "no JSON object"),
    "no agent": ({"operation": "ADD", "insight": "x"}, "names no agent"),
    "unknown agent": ({"agent": "judge", "operation": "ADD", "insight": "x"}, "names no agent"),
    "unknown operation": ({"agent": "test", "operation": "DROP", "insight": "x"}, "none of ADD"),
    "unknown number": ({"agent": "test", "operation": "REMOVE", "number": 2}, "no insight '2'"),
    "another agent's number": (
        {"agent": "test", "operation": "EDIT", "number": "2", "insight": "x"},
        "no insight",
    ),
    "no number": ({"agent": "test", "operation": "EDIT", "insight": "x"}, "no insight"),
    "a list as number": ({"agent": "test", "operation": "EDIT", "number": [1], "insight": "x"}, "no insight"),
    "no text": ({"agent": "test", "operation": "ADD", "insight": "  "}, "no text"),
    "a number as text": ({"agent": "test", "operation": "ADD", "insight": 5}, "no text"),
    "too long": ({"agent": "test", "operation": "ADD", "insight": "x" * 301}, "301 characters"),
    "known already": ({"agent": "test", "operation": "ADD", "insight": "Guard what may hang."}, "says the same"),
    "unchanged": (
        {"agent": "patch", "operation": "EDIT", "number": 1, "insight": "Look at the base class."},
        "changes nothing",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_operation_is_dropped_with_its_reason_and_the_others_stay(
    line: object, reason: str
) -> None:
    good = {"agent": "patch", "operation": "ADD", "insight": "Mend the cause."}
    found = read(line, good)
    assert found.operations == {Agent.PATCH: (Operation(OperationKind.ADD, "Mend the cause."),)}
    assert len(found.dropped) == 1
    assert reason in found.dropped[0]


def test_more_than_four_operations_of_an_agent_and_two_on_one_insight_are_dropped() -> None:
    twice = [{"agent": "patch", "operation": "REMOVE", "number": 1}] * 2
    found = read(*twice, *({"agent": "patch", "operation": "ADD", "insight": f"No. {i}"} for i in range(5)))
    assert [one.text for one in found.operations[Agent.PATCH]] == ["", "No. 0", "No. 1", "No. 2"]
    assert [reason.split(":")[0] for reason in found.dropped] == [
        "there is an operation on insight 1 already", *["the patch agent has 4 operations already"] * 2,
    ]  # fmt: skip


def test_a_broken_object_does_not_hide_those_in_it_or_after_it() -> None:
    one = '{"agent": "test", "operation": "ADD", "insight": "One."}'
    found = read('{"operations": [' + one, '{"agent": "patch", "operation": "REMOVE", "number": 2}, oh]}')
    assert [len(found.operations[agent]) for agent in Agent] == [1, 1]
    assert not found.dropped


def test_terminal_control_in_an_insight_is_shown_and_its_lines_become_one() -> None:
    found = read({"agent": "test", "operation": "ADD", "insight": "a\x1b[31m\n2. b"})
    assert found.operations[Agent.TEST][0].text == "a\\x1b[31m 2. b"


def test_a_reply_without_operations_is_none() -> None:
    assert read_operations("I would rather not.", PRESENT, most=4, longest=300) == Read()


@given(st.text(alphabet=st.sampled_from('{}[]",:\\ n1aoperationADD`\n'), max_size=400))
def test_no_reply_raises(reply: str) -> None:
    read_operations(reply, PRESENT, most=4, longest=300)


def test_a_hostile_reply_costs_little() -> None:
    for reply in (
        "{" * 60_000,
        '{"a":' * 20_000,
        '{"operation":[' * 20_000,
        "[" * 60_000,
        '{"operation":[' * 900 + "1" + "]}" * 900,
    ):
        found = read_operations(reply, PRESENT, most=4, longest=300)
        assert not found.operations
        assert len(found.dropped) <= 100
