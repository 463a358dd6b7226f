"""What goes wrong, in the program's words."""

from __future__ import annotations


class Error(Exception):
    """A question that could not be answered: what, where, and the remedy, as the program prints them.

    That a training does not fit is an answer ("verdict": "does_not_fit"), not an error.

    >>> try:
    ...     plimsoll.fit("gpt2", on="RTX 9999")
    ... except plimsoll.Error as error:
    ...     print(error.what, error.remedy)
    """

    def __init__(self, what: str, where: str = "", remedy: str = "", kind: str = "input", exit_code: int = 2) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        self.kind = kind  # "input", "unknown_name", "infeasible", "uncalibrated", "defect", "environment", "interrupted"
        self.exit_code = exit_code  # the program's in its place
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text}\n  {remedy}" if remedy else text)
