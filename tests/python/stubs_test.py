"""Law: the stubs name every option that the commands have, and no other."""

import os
import sys
import unittest

ROOT = os.environ["PLIMSOLL_ROOT"]
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import plimsoll  # noqa: E402
import write_python_stubs  # noqa: E402


class Stubs(unittest.TestCase):
    def test_the_stubs_are_those_of_the_options(self):
        with open(os.path.join(ROOT, "python/plimsoll/commands.pyi"), encoding="utf-8") as file:
            self.assertEqual(file.read(), write_python_stubs.all_stubs(), "write them anew with scripts/write_python_stubs.py")

    def test_everything_that_is_offered_has_a_docstring(self):
        for name in plimsoll.__all__:
            if name != "__version__":
                self.assertTrue(getattr(plimsoll, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
