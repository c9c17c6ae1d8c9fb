"""What people, models and tools say in the store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from large_store.dice import chance
from large_store.vocabulary import (
    ADJECTIVES,
    CHINESE,
    CODE_LINES,
    NOUNS,
    OUTPUT_LINES,
    REQUESTS,
    TEMPLATES,
    TOOLS,
    VERBS,
    WHINES,
)
from large_store.wanted import CJK, CJK_RATE

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

HUGE_CHARS = 1_000_000
"""Size of the few tool results that are a megabyte, as a careless `cat` leaves them."""


class Prose:
    """Endless text that looks like a developer's week.

    Sentences are drawn from pools filled once, since formatting each one anew would be most of the
    running time; identifiers made of two words give the search index a vocabulary of real size.
    """

    def __init__(self, rng: random.Random) -> None:
        """Fill the pools from `rng`; everything said later comes from the same generator."""
        self.rng = rng
        self.sentences = [self._fill(rng.choice(TEMPLATES)) for _ in range(6_000)]
        self.requests = [self._fill(rng.choice(REQUESTS)) for _ in range(6_000)]
        self.code_lines = [self._fill(rng.choice(CODE_LINES)) for _ in range(4_000)]
        self.output_lines = [self._fill(rng.choice(OUTPUT_LINES)) for _ in range(12_000)]

    def _fill(self, template: str) -> str:
        rng = self.rng
        noun, verb = rng.choice(NOUNS), rng.choice(VERBS)
        return template.format(
            n=noun,
            N=noun.title(),
            m=rng.choice(NOUNS),
            o=rng.choice(NOUNS),
            a=rng.choice(ADJECTIVES),
            v=verb,
            V=verb.capitalize(),
            w=rng.choice(WHINES),
            i=self.identifier(),
            p=self.path(),
            c=rng.randint(1, 9),
            d=rng.randint(2, 900),
            e=rng.randint(10, 99),
        )

    def identifier(self) -> str:
        """Return a name from a program, two words long."""
        return f"{self.rng.choice(VERBS).replace('-', '_')}_{self.rng.choice(NOUNS)}"

    def path(self) -> str:
        """Return a file of some project."""
        return f"src/{self.rng.choice(NOUNS)}/{self.rng.choice(NOUNS)}.py"

    def request(self, *, cjk: bool) -> str:
        """Return what a person asks: one to three sentences."""
        return self._speech(self.requests, self.rng.randint(1, 3), cjk=cjk)

    def answer(self, *, cjk: bool) -> str:
        """Return what a model answers: some sentences, at times with a block of code."""
        said = self._speech(self.sentences, self.rng.randint(1, 7), cjk=cjk)
        if chance(self.rng, 0.25):
            code = "\n".join(self.rng.choices(self.code_lines, k=self.rng.randint(3, 14)))
            said = f"{said}\n\n```python\n{code}\n```\n\n{self.rng.choice(self.sentences)}"
        return said

    def _speech(self, pool: Sequence[str], sentences: int, *, cjk: bool) -> str:
        if not cjk:
            return " ".join(self.rng.choices(pool, k=sentences))
        said = "".join(self.rng.choices(CHINESE, k=sentences))
        return f"{said}{CJK}的连接数也要看一下。" if chance(self.rng, CJK_RATE) else said

    def tool_call(self) -> tuple[str, str]:
        """Return a tool's name and its arguments as JSON text."""
        tool = self.rng.choice(TOOLS)
        if tool == "terminal":
            return tool, json.dumps({"command": f"rg -n {self.identifier()} {self.path()}"})
        if tool == "web_search":
            return tool, json.dumps({"query": f"{self.rng.choice(NOUNS)} {self.identifier()}"})
        return tool, json.dumps({"path": self.path(), "limit": self.rng.randint(20, 400)})

    def tool_result(self) -> str:
        """Return a tool's output: mostly short, now and then past the 8192 characters indexed."""
        lines = min(400, 1 + int(self.rng.lognormvariate(2.6, 1.0)))
        return "\n".join(self.rng.choices(self.output_lines, k=lines))

    def huge_result(self) -> str:
        """Return `HUGE_CHARS` characters of output."""
        lines: list[str] = []
        size = 0
        while size < HUGE_CHARS:
            lines.append(self.rng.choice(self.output_lines))
            size += len(lines[-1]) + 1
        return "\n".join(lines)[:HUGE_CHARS]
