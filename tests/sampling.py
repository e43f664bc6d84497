"""Tests of which a run takes every second to twenty-fourth, beginning at a seed: as many runs in a row as there are parts take them all."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

#: Of how many the run takes one. All of them are taken by ``--whole`` (``make test-whole``), and where a test is asked for by its name.
PARTS = {
    "tests/test_adapters.py::test_every_implementation_but_falcon_and_the_forgetful_layer_meets_the_vectors": 6,
    "tests/test_baseline.py": 2,
    "tests/test_careless_caches.py::test_a_cache_that_knows_all_of_what_it_is_of_passes": 6,
    "tests/test_careless_caches.py::test_a_careless_cache_is_convicted_at_core": 6,
    "tests/test_careless_caches.py::test_a_table_as_long_as_a_part_of_the_positions_asks_for_is_convicted": 6,
    "tests/test_catalogue.py::test_a_habit_is_convicted_by_the_laws_that_claim_it": 8,
    "tests/test_catalogue.py::test_a_habit_is_named_alone_by_the_run_that_convicts_it": 4,
    "tests/test_configured.py": 4,
    "tests/test_configured_transformers.py": 12,
    "tests/test_declared_too_widely.py::test_what_is_declared_too_widely_is_told_what_to_declare_and_conforms_with_it": 6,
    "tests/test_diagnose.py::test_every_mutant_is_named_from_its_output_alone": 6,
    "tests/test_diagnose.py::test_nothing_is_named_for_a_mistake_that_nobody_knows": 4,
    "tests/test_diagnose_asked.py": 4,
    "tests/test_escaped_kernels.py::test_a_kernel_that_once_conformed_is_convicted_at_core": 12,
    "tests/test_escaped_kernels.py::test_a_mask_that_no_logit_comes_near_is_right": 4,
    "tests/test_escaped_kernels.py::test_a_table_that_is_too_short_until_a_first_row_reaches_farther_is_convicted": 4,
    "tests/test_escaped_kernels.py::test_right_code_passes_however_it_is_written_and_answers_the_same_in_another_order": 12,
    "tests/test_escaped_kernels.py::test_right_code_passes_with_views_and_in_arrays_that_are_used_again": 4,
    "tests/test_faults_elsewhere.py": 10,
    "tests/test_files.py": 2,
    "tests/test_forms.py": 4,
    "tests/test_free_constants.py::test_right_rows_conform_whatever_their_constant": 4,
    "tests/test_golden_varied.py": 2,
    "tests/test_harness_outcomes.py": 4,
    "tests/test_history_late.py": 4,
    "tests/test_history_workers.py": 2,
    "tests/test_identify.py": 8,
    "tests/test_identify.py::test_every_function_of_a_bundled_adapter_is_recovered_from_its_values": 24,
    "tests/test_identify.py::test_the_declaration_that_is_printed_conforms_when_it_is_pasted": 12,
    "tests/test_identify_memory.py": 6,
    "tests/test_identify_memory.py::test_a_cache_that_knows_all_of_what_it_is_of_is_not_told": 6,
    "tests/test_identify_memory.py::test_a_careless_cache_is_told": 8,
    "tests/test_identify_natural.py": 4,
    "tests/test_identify_people.py": 4,
    "tests/test_identify_truths.py": 6,
    "tests/test_identify_unsteady.py": 12,
    "tests/test_laws_pass.py::test_code_that_counts_or_decodes_breaks_no_law": 12,
    "tests/test_laws_pass.py::test_code_that_has_bounds_breaks_no_law": 8,
    "tests/test_laws_pass.py::test_the_reference_breaks_no_law": 8,
    "tests/test_left_behind.py": 6,
    "tests/test_mutants.py::test_at_least_twelve_cases_convict_other_mutants_or_visit_other_positions_and_branches": 4,
    "tests/test_mutants.py::test_the_lock_says_which_vector_convicts_each_mutant": 4,
    "tests/test_narrow_code.py::test_right_code_conforms_inside_its_declaration": 12,
    "tests/test_narrow_code.py::test_wrong_code_is_convicted_inside_its_declaration_and_named_where_known": 12,
    "tests/test_nothing_lost.py": 2,
    "tests/test_pictures.py::test_a_png_is_small_enough_to_be_committed": 3,
    "tests/test_protocol.py": 2,
    "tests/test_protocol_unasked.py": 4,
    "tests/test_pytest_plugin.py": 4,
    "tests/test_reference_backends.py": 3,
    "tests/test_reliability.py::test_a_fault_is_reported_as_what_it_is_and_the_run_goes_on": 12,
    "tests/test_sharding.py": 2,
    "tests/test_takes.py": 4,
    "tests/test_under.py": 4,
    "tests/test_wrong_kernels.py::test_a_kernel_that_is_wrong_from_somewhere_on_is_convicted_at_core": 8,
}
WORDS = {2: "half", 3: "a third", 4: "a quarter", 6: "a sixth", 8: "an eighth", 10: "a tenth", 12: "a twelfth", 24: "a twenty-fourth"}


def taken(names: Sequence[str], seed: int) -> Iterator[bool]:
    """Yield of every test, in the order in which they are collected, whether it is in the sample."""
    met: Counter[str] = Counter()
    for name in names:
        function = name.split("[", 1)[0]
        counted = function if function in PARTS else function.split("::", 1)[0]
        yield (met[counted] + seed) % PARTS.get(counted, 1) == 0
        met[counted] += 1


def header(seed: int) -> list[str]:
    """Return what a run says of what it leaves out."""
    rows = [f"  {WORDS[parts]} of {function.removeprefix('tests/')}" for function, parts in PARTS.items()]
    return [f"sampled by seed {seed} (--sample-seed {seed} takes the same, --whole takes all):", *rows]


def asked(request: pytest.FixtureRequest, parameter: str) -> list[Any]:
    """Return what this run's tests in the requesting file are given as a parameter, each once: what is set up for all needs no other."""
    items = [item for item in request.session.items if item.path == request.path]
    specifications = (getattr(item, "callspec", None) for item in items)
    return list(dict.fromkeys(each.params[parameter] for each in specifications if each is not None and parameter in each.params))
