"""The ends of messages about unknown words: what is known, and what may be meant."""

from __future__ import annotations

import pytest

from ir_interp.errors import closest

RELEASES = ("gpu", "gpu:8.2", "gpu:8.6", "gpu:10.1", "gpu:10.15", "cpu")
LISTED = "expected one of gpu:8.2, gpu:8.6, gpu:10.1, gpu:10.15 (oldest to newest)"


@pytest.mark.parametrize(
    ("word", "known", "end"),
    [
        ("gpu:7.0", RELEASES, LISTED),
        ("gpu:9", RELEASES, LISTED),
        ("gpu:x", RELEASES, LISTED),
        ("gpu:11.0", RELEASES, LISTED),
        ("gpu:9.9", RELEASES, f"{LISTED}; did you mean 'gpu:10.1'?"),
        ("gpus", RELEASES, "expected one of cpu, gpu, gpu:8.2 to gpu:10.15; did you mean 'gpu'?"),
        ("a:3", ("a:0", "a:1", "a:2", "b"), "expected one of a:0, a:1, a:2, b; did you mean 'a:2'?"),
        ("E5", [f"IRI{number:03}" for number in range(1, 9)], "expected one of IRI001 to IRI008"),
        ("--nope", ("--ignore", "--html"), "expected one of --html, --ignore"),
        (
            "z",
            [f"{letter}{letter}" for letter in "abcdefghijklmnopqrstuvw"],
            "expected one of 23, such as aa, bb, cc, dd, ee",
        ),
    ],
)
def test_unknown_words(word: str, known: tuple[str, ...], end: str) -> None:
    assert closest(word, known) == end
