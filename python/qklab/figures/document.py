"""Reading a JSON document entry by entry, so that a wrong entry is named by where it stands."""

import math

import numpy as np
from matplotlib.mathtext import MathTextParser

__all__ = ["DocumentError", "Field"]


class DocumentError(ValueError):
    """An entry that is missing or not of its form: "panels[0].density.p: must be ..."."""


class Field:
    """One entry of a document together with its place in it."""

    def __init__(self, value, place=""):
        self.value = value
        self.place = place

    def error(self, problem):
        return DocumentError(f"{self.place or 'document'}: {problem}")

    def __getitem__(self, key):
        """The entry `key` of an object; DocumentError when it is missing."""
        if (field := self.get(key)) is None:
            raise self._at(key).error("is missing")
        return field

    def get(self, key):
        """The entry `key` of an object, None when it is missing or null."""
        value = self._object().get(key)
        return None if value is None else self._at(key, value)

    def only(self, *keys):
        """Refuses every key but these, so that a misspelt one is not passed over."""
        for key in self._object():
            if key not in keys:
                raise self._at(key).error(f"unknown key; allowed: {', '.join(keys)}")
        return self

    def items(self):
        if not isinstance(self.value, list):
            raise self.error("must be a list")
        return [Field(value, f"{self.place}[{i}]") for i, value in enumerate(self.value)]

    def some_items(self):
        if not (items := self.items()):
            raise self.error("must not be empty")
        return items

    def one_of(self, *allowed):
        if self.value not in allowed:
            raise self.error(f"is {self.value!r}; must be one of {', '.join(allowed)}")
        return self.value

    def text(self):
        """A string that matplotlib can typeset ($...$ is mathematics)."""
        if not isinstance(self.value, str):
            raise self.error("must be text")
        try:
            MathTextParser("path").parse(self.value)
        except ValueError:
            raise self.error(f"is not valid mathematical text: {self.value!r}") from None
        return self.value

    def words(self, key):
        """The text at `key`, empty when there is none."""
        field = self.get(key)
        return field.text() if field else ""

    def switch(self, key):
        """The flag at `key`, off when there is none."""
        field = self.get(key)
        return field.flag() if field else False

    def flag(self):
        if not isinstance(self.value, bool):
            raise self.error("must be true or false")
        return self.value

    def number(self):
        if not _is_number(self.value):
            raise self.error(f"is {self.value!r}; must be a finite number")
        return float(self.value)

    def positive(self):
        if not _is_number(self.value) or self.value <= 0:
            raise self.error(f"is {self.value!r}; must be a positive number")
        return float(self.value)

    def count(self):
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 1:
            raise self.error(f"is {self.value!r}; must be a positive whole number")
        return self.value

    def numbers(self, like=None, gaps=False):
        """A list of finite numbers, as long as `like` if given; `gaps` lets null stand for no value (NaN)."""
        values = [math.nan if gaps and item.value is None else item.number() for item in self.items()]
        return self._matched(np.array(values), like)

    def interval(self):
        """A list [low, high] with low <= high."""
        ends = self.numbers()
        if len(ends) != 2 or ends[0] > ends[1]:
            raise self.error(f"is {self.value!r}; must be [low, high]")
        return ends

    def flags(self, like=None):
        return self._matched(np.array([field.flag() for field in self.items()], dtype=bool), like)

    def _matched(self, values, like):
        if like is not None and len(values) != len(like):
            raise self.error(f"has {len(values)} entries; must have {len(like)}, as many as x")
        return values

    def _object(self):
        if not isinstance(self.value, dict):
            raise self.error("must be an object")
        return self.value

    def _at(self, key, value=None):
        return Field(value, f"{self.place}.{key}" if self.place else key)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
