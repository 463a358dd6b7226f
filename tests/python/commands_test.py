"""Laws of the functions: each answers what the program's command prints with --json, and fails in its words."""

import json
import os
import subprocess
import tempfile
import threading
import unittest

import plimsoll

PROGRAM = os.environ["PLIMSOLL_PROGRAM"]
ROOT = os.environ["PLIMSOLL_ROOT"]
TINY = "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=64"


def program(*words):
    """Exit code, standard output and standard error of the program."""
    ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout, ended.stderr


class Commands(unittest.TestCase):
    def test_fit_answers_what_the_program_answers(self):
        words = ["fit", "gpt2", "--on", "RTX 3090", "--stack", "pytorch", "--batch", "8", "--compile", "--json"]
        answer = plimsoll.fit("gpt2", on="RTX 3090", stack="pytorch", batch=8, compile=True)
        self.assertEqual(answer, json.loads(program(*words)[1]))

    def test_a_training_that_does_not_fit_is_an_answer(self):
        # 1.56 billion parameters at 16 bytes are 25 GB, and 6 GB + 8 GiB are less.
        answer = plimsoll.fit("gpt2-xl", on="RTX 2060 6GB", ram="8GiB")
        self.assertEqual(answer["verdict"], "does_not_fit")

    def test_a_list_is_an_option_given_again(self):
        prices = ["ram=3", "RTX 3090=700"]
        words = ["fit", TINY, "--on", "RTX 3060 12GB", "--what-would-help", "--json", *("--price-of=" + price for price in prices)]
        answer = plimsoll.fit(TINY, on="RTX 3060 12GB", what_would_help=True, price_of=prices)
        self.assertEqual(answer, json.loads(program(*words)[1]))

    def test_false_and_none_are_options_left_out(self):
        self.assertEqual(plimsoll.fit(TINY, on="T4", desktop=False, seq=None), plimsoll.fit(TINY, on="T4"))

    def test_false_denies_an_option_that_can_be_denied(self):
        shared = {"on": "A100 80GB", "tp": 4, "stack": "megatron", "batch": 2}
        words = ["fit", "gpt2-medium", "--json", *(f"--{key}={value}" for key, value in shared.items())]
        answer = plimsoll.fit("gpt2-medium", sequence_parallel=False, **shared)
        self.assertEqual(answer, json.loads(program(*words, "--no-sequence-parallel")[1]))
        layout = {"on": "A100 80GB", "gpus": 4, "tp": 4}  # of ours, where sequence parallelism is looked for unless somebody says
        self.assertTrue(plimsoll.fit("gpt2-medium", **layout)["parallel"]["sequence_parallel"])
        self.assertFalse(plimsoll.fit("gpt2-medium", sequence_parallel=False, **layout)["parallel"]["sequence_parallel"])

    def test_an_unknown_keyword_is_an_error_whatever_its_value(self):
        for value in (True, False, 8):
            with self.assertRaises(plimsoll.Error):
                plimsoll.fit(TINY, on="T4", bach=value)

    def test_an_error_has_the_programs_words(self):
        code, _, said = program("fit", "gpt2-xxl", "--on", "T4")
        with self.assertRaises(plimsoll.Error) as caught:
            plimsoll.fit("gpt2-xxl", on="T4")
        self.assertEqual("plimsoll: " + str(caught.exception), said.rstrip("\n"))
        self.assertEqual((caught.exception.exit_code, caught.exception.kind), (code, "unknown_name"))
        self.assertTrue(caught.exception.remedy)
        wrong = {"bach": 3}, {"batch": "many"}, {"gpus": 0}, {"on": "2x T4", "gpus": 3}, {"ram": "many"}
        for flags in wrong:
            words = [f"--{key}={value}" for key, value in flags.items()]
            code, _, said = program("fit", *words, "gpt2")
            with self.assertRaises(plimsoll.Error) as caught:
                plimsoll.fit("gpt2", **flags)
            self.assertEqual("plimsoll: " + str(caught.exception), said.rstrip("\n"))
            self.assertEqual(caught.exception.exit_code, code)

    def test_an_unknown_keyword_is_an_error_as_an_unknown_option_is(self):
        code, _, said = program("fit", "gpt2", "--on", "T4", "--batchsize=8")
        with self.assertRaises(plimsoll.Error) as caught:
            plimsoll.fit("gpt2", on="T4", batchsize=8)
        self.assertIn(caught.exception.what, said)
        self.assertIn("--batchsize is none of its options", caught.exception.what)
        self.assertEqual(caught.exception.exit_code, code)

    def test_true_is_no_value_of_an_option_that_takes_one(self):
        with self.assertRaises(plimsoll.Error) as caught:
            plimsoll.fit("gpt2", on="T4", lora=True)
        self.assertEqual(caught.exception.where, "--lora")
        self.assertIn("lora=", caught.exception.remedy)

    def test_a_name_that_begins_with_a_dash_is_a_name(self):
        with self.assertRaises(plimsoll.Error) as caught:
            plimsoll.simulate("--json")
        self.assertIn("--json", str(caught.exception))

    def test_a_plan_is_written_and_simulated_to_the_same_step(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            planned = plimsoll.plan(TINY, on="RTX 3060 12GB", output=path)
            self.assertEqual(plimsoll.simulate(path)["step_seconds"], planned["step_seconds"])

    def test_an_unwritable_place_is_an_error_of_its_kind(self):
        with self.assertRaises(plimsoll.Error):
            plimsoll.plan(TINY, on="T4", output="/proc/no/such/folder/plan.json")

    def test_replay_answers_what_the_program_answers(self):
        trace = os.path.join(ROOT, "data/traces/bert_small_h100.json.gz")
        self.assertEqual(plimsoll.replay(trace), json.loads(program("replay", trace, "--json")[1]))

    def test_compare_asks_for_a_run_file(self):
        code, _, said = program("compare", PROGRAM)
        with self.assertRaises(plimsoll.Error) as caught:
            plimsoll.compare(PROGRAM)
        self.assertEqual("plimsoll: " + str(caught.exception), said.rstrip("\n"))

    def test_other_threads_run_while_a_command_works(self):
        # The search takes long enough for a thread to count; it could not while the lock is held.
        counts = []
        done = threading.Event()

        def count():
            while not done.wait(0.001):
                counts.append(1)

        thread = threading.Thread(target=count)
        thread.start()
        before = len(counts)
        plimsoll.fit("gpt2-xl", on="RTX 2060 6GB", ram="16GiB", ssd="200GB")
        during = len(counts) - before
        done.set()
        thread.join()
        self.assertGreater(during, 5)


if __name__ == "__main__":
    unittest.main()
