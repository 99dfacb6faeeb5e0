from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

from experepair.domain.memory import Failure, Query
from experepair.domain.roles import Agent
from experepair.memory.config import RecallConfig
from experepair.memory.retrieve.okapi import Okapi
from experepair.memory.retrieve.paper import Paper, plain_words
from listed_store import SCOPE, ListedStore, demonstration

words = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]), max_size=12)


@given(st.lists(words, min_size=1, max_size=12).filter(lambda documents: any(documents)), words)
def test_scores_are_those_of_rank_bm25(documents: list[list[str]], query: list[str]) -> None:
    expected = BM25Okapi(documents).get_scores(query)
    found = Okapi(documents).scores(query)
    assert all(abs(one - other) < 1e-9 for one, other in zip(found, expected, strict=True))


def test_words_in_most_documents_get_a_floor_and_repetitions_in_the_query_count() -> None:
    documents = [["the", "gate"], ["the", "wall"], ["the", "pond", "gate"], ["a", "x"], ["b", "y"]]
    once, twice = Okapi(documents).scores(["the"]), Okapi(documents).scores(["the", "the"])
    assert once[0] > 0
    assert twice == [2 * score for score in once]
    assert list(BM25Okapi(documents).get_scores(["the", "the"])) == twice


def test_no_documents_have_no_scores() -> None:
    assert Okapi([]).scores(["a"]) == []


def test_it_ranks_by_plain_words_and_keeps_up_with_the_store(tmp_path: Path) -> None:
    store = ListedStore(
        [
            demonstration("whole", "get_value fails"),
            demonstration("parts", "value get failing"),
            demonstration("other", "The pond is cold"),
            demonstration("more", "The wall is old"),
        ]
    )
    paper = Paper(store, SCOPE, Agent.PATCH, RecallConfig())
    asked = Query(Agent.PATCH, "now", "get_value FAILS")
    assert [hit.entry.id for hit in paper.ranked(asked)] == ["whole"]
    store.drop("whole")
    store.learn(demonstration("new", "it fails"))
    assert [hit.entry.id for hit in paper.ranked(asked)] == ["new"]
    assert paper.size() == 4


def test_answers_to_failures_compete_by_failure() -> None:
    failed = Failure("import toy", "settings are not configured")
    store = ListedStore(
        [
            demonstration("pair", "union crashes"),
            demonstration("alike", "The pond is cold", failure=failed),
            demonstration("unlike", "union crashes", failure=Failure("x", "row count differs")),
            demonstration("third", "The pond is warm", failure=Failure("y", "another reason")),
            demonstration("more", "The wall is old"),
            demonstration("last", "The roof is wet"),
        ]
    )
    paper = Paper(store, SCOPE, Agent.PATCH, RecallConfig())
    asked = Query(Agent.PATCH, "now", "union crashes", Failure("import toy.db", "not configured"))
    assert {hit.entry.id for hit in paper.ranked(asked)} == {"pair", "alike"}


def test_plain_words_are_what_stands_between_white_space() -> None:
    assert plain_words("A b(c)\n\td.E") == ("a", "b(c)", "d.e")
