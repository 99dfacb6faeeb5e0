from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.bench.predictions import Prediction, read_predictions, write_predictions, write_trajectory
from experepair.errors import UsageError


@given(
    st.dictionaries(
        st.text("ab-_1", min_size=1, max_size=9), st.none() | st.text(st.characters(codec="utf-8"))
    )
)
def test_what_is_written_is_read_again_and_has_the_columns_of_the_harness(
    tmp_path_factory: pytest.TempPathFactory, patches: dict[str, str | None]
) -> None:
    path = tmp_path_factory.mktemp("predictions") / "all_preds.jsonl"
    predictions = [
        Prediction(instance_id=name, model_patch=patch, model_name_or_path="a/b")
        for name, patch in patches.items()
    ]
    write_predictions(path, predictions)
    assert list(read_predictions(path).values()) == predictions
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # as a file's lines are read
    for line in lines:
        assert set(json.loads(line)) == {"instance_id", "model_patch", "model_name_or_path"}
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(patches)


def test_an_object_by_instance_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "preds.json").write_text(json.dumps({"a-1": {"model_patch": "diff", "cost": 1}}))
    [prediction] = read_predictions(tmp_path / "preds.json").values()
    assert (prediction.instance_id, prediction.model_patch) == ("a-1", "diff")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"model_patch": "x"}], "prediction 1 .*instance_id"),
        ([{"instance_id": "a", "model_patch": 5}], "model_patch"),
        ([{"instance_id": "a"}, {"instance_id": "a"}], "two predictions for 'a'"),
    ],
)
def test_what_is_no_prediction_is_an_error(tmp_path: Path, rows: list[object], message: str) -> None:
    (tmp_path / "preds.json").write_text(json.dumps(rows))
    with pytest.raises(UsageError, match=message):
        read_predictions(tmp_path / "preds.json")


def test_a_trajectory_lies_where_the_leaderboard_looks(tmp_path: Path) -> None:
    path = write_trajectory(tmp_path, "sympy__sympy-1", "# What happened\n")
    assert path == tmp_path / "trajs" / "sympy__sympy-1.md"
    assert path.read_text() == "# What happened\n"
