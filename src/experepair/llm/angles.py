"""What tells the samples of one prompt apart for a model that takes no temperature."""

from __future__ import annotations

from dataclasses import replace

from experepair.llm.recording import ANGLE
from experepair.llm.request import Part, Request

ANGLES = (
    "Among several good answers, give the one with the smallest change at the root cause.",
    "Among several good answers, give the one that looks one level up the call chain, to where the wrong value is made or passed on.",
    "Among several good answers, give the one that handles the whole class of inputs that the issue is an example of.",
    "Among several good answers, give the one that follows how the nearest similar code in this repository does it.",
    "Among several good answers, give one that differs from the first that comes to mind, and say why it is right.",
)


def with_angle(request: Request) -> Request:
    """The request with its sample's angle as the last part; a single sample needs none.

    The angle comes last, so that all samples have the rest of the prompt in common.
    """
    if request.samples < 2:
        return request
    angle = Part(ANGLE, ANGLES[request.sample % len(ANGLES)])
    return replace(request, prompt=replace(request.prompt, parts=(*request.prompt.parts, angle)))
