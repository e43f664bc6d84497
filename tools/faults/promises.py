"""What is promised under faults, one fact a row, with the tests that show it."""

from collections.abc import Mapping, Sequence

#: A promise, and where it is shown: a file of ``tests`` with names of its tests.
Promise = tuple[str, Mapping[str, Sequence[str]]]

ZOO = {
    "reliability": (
        "a_fault_is_reported_as_what_it_is_and_the_run_goes_on",
        "the_document_lists_every_fault_and_no_other",
    )
}

PROMISES: Mapping[str, Sequence[Promise]] = {
    "Nothing is lost": (
        (
            "Injection, path traversal, floods of output, full disks, torn files and kills change no verdict and leave no half file.",
            {
                "hostile_input": (
                    "nothing_is_unpickled_evaluated_or_given_to_a_shell",
                    "the_label_of_an_implementation_names_no_other_folder",
                    "a_line_that_does_not_end_is_read_to_its_limit",
                ),
                "ci": ("an_input_is_never_read_by_a_shell",),
                "harness_outcomes": ("noise_on_stdout_corrupts_nothing",),
                "faults_elsewhere": ("a_full_disk_is_told_in_one_line",),
                "reports": ("a_damaged_record_is_read_or_refused_in_one_line",),
                "soak": (
                    "a_hundredth_of_the_damage_is_read_or_refused_clearly",
                    "a_killed_command_leaves_whole_files_and_the_next_run_is_right",
                ),
            },
        ),
        (
            "A later start of a worker that fails (flaky device, deleted file, no further process) is an outcome of its call.",
            {
                "nothing_lost": (
                    "a_worker_that_starts_no_second_time_loses_no_result",
                    "a_worker_that_starts_no_second_time_is_told_as_that_and_not_as_chance_or_hash_order",
                    "an_exception_of_a_later_start_is_told_where_the_working_folder_is_gone_too",
                    "a_system_that_starts_no_further_worker_loses_no_result_and_blames_nobody",
                    "why_a_worker_starts_no_more_is_told_to_the_end",
                    "a_target_of_which_every_second_start_fails_is_judged_in_whatever_order_they_come",
                    "a_start_that_fails_and_is_tried_again_is_told",
                    "a_target_that_never_starts_is_refused",
                )
            },
        ),
        (
            "A target of which one worker can run at a time (a file lock, a bound port) is served by one.",
            {
                "nothing_lost": (
                    "a_target_of_which_one_worker_can_run_is_served_by_one",
                    "parts_of_a_target_that_starts_no_further_worker_come_to_the_verdict_of_the_whole",
                    "parts_of_which_every_second_start_fails_are_all_judged",
                    "a_part_that_lacked_a_worker_is_judged_once_more_alone",
                ),
                "leaving": ("a_target_that_locks_others_out_by_a_file_is_judged_and_leaves_none",),
            },
        ),
        (
            "One bad target among several has a verdict of its own in every report, and the others are judged.",
            {
                "nothing_lost": (
                    "a_bad_target_among_several_has_a_verdict_of_its_own",
                    "a_document_says_that_a_target_cannot_be_judged",
                    "records_of_targets_that_cannot_be_judged_are_not_compared",
                )
            },
        ),
        (
            "There is a verdict per target, and the worst status at the end.",
            {
                "cli": (
                    "several_targets_are_all_judged_and_the_worst_status_counts",
                    "a_run_in_which_nothing_ran_hides_no_failure_and_no_broken_harness",
                )
            },
        ),
        (
            "A part of `--jobs` that is killed is judged once more; killed again, it loses its own checks only.",
            {
                "nothing_lost": (
                    "a_part_that_is_killed_is_judged_once_more",
                    "a_part_that_is_killed_twice_loses_its_own_results_only",
                ),
                "sharding": ("a_part_whose_run_was_killed_before_it_began_judges_nothing",),
            },
        ),
        (
            "A place where `--report` can't be written is told first; where that fails later, the verdict is told, and its status is kept.",
            {
                "nothing_lost": (
                    "a_report_that_cannot_be_written_is_told_before_anything_is_judged",
                    "what_cannot_be_written_into_in_place_of_a_report_is_told_before_anything_is_judged",
                    "a_pipe_in_place_of_a_report_is_written_into_for_whoever_reads_it_when_the_run_begins",
                    "a_report_that_cannot_be_written_any_more_loses_no_verdict",
                ),
                "files": (
                    "a_folder_that_can_not_be_written_to_is_told_before_anything_is_judged",
                    "a_report_that_cannot_be_written_keeps_no_other_back",
                ),
                "faults_elsewhere": ("what_can_not_be_shown_is_still_kept",),
            },
        ),
        (
            "SIGTERM and SIGHUP end a run as Ctrl-C does: with a partial report, and no worker is left.",
            {
                "nothing_lost": (
                    "what_ends_a_run_leaves_a_partial_report_and_no_worker",
                    "parts_that_are_interrupted_before_they_found_anything_leave_a_report_that_says_so",
                ),
                "interrupts": (
                    "an_interruption_is_heard_where_an_exception_would_be_dropped",
                    "reports_are_written_to_the_end_where_that_is_interrupted",
                    "an_interruption_while_the_worker_is_ended_loses_no_result",
                ),
            },
        ),
        (
            "Workers end with the process that started them.",
            {
                "nothing_lost": ("a_worker_ends_with_a_run_that_is_killed",),
                "keeper": (
                    "a_killed_harness_leaves_nothing_that_a_worker_has_started",
                    "a_worker_of_a_harness_that_was_killed_while_it_started_is_never_imported",
                ),
            },
        ),
    ),
    "No verdict is stale or hollow": (
        (
            "A run of the Action that fails early shows no earlier summary, and leaves no earlier report.",
            {
                "ci": (
                    "a_run_that_fails_early_shows_and_leaves_no_report_of_an_earlier_one",
                    "a_report_of_an_earlier_run_that_cannot_be_removed_ends_the_step",
                )
            },
        ),
        ("A run of the Action that judged nothing is no success.", {"ci": ("what_judges_nothing_is_no_success",)}),
        (
            "Folders called `conformance` and as other packages, in a repository, on a worker's path or on `PYTHONPATH`, change nothing.",
            {
                "ci": ("folders_of_a_repository_that_are_called_as_ours_change_nothing",),
                "pytest_plugin": ("a_project_with_a_folder_named_conformance_runs_its_own_tests",),
                "faults_elsewhere": (
                    "packages_of_a_project_that_are_called_as_ours_change_nothing",
                    "packages_that_a_project_has_imported_in_place_of_ours_are_wrong_usage",
                ),
            },
        ),
        (
            "Two implementations of one operation and label are refused by `--baseline` and `report diff`.",
            {
                "baseline": ("implementations_of_one_label_in_two_targets_are_refused_after_both_were_told",),
                "reports": ("two_implementations_of_one_operation_and_label_are_not_merged",),
            },
        ),
        (
            "A baseline that is written for an odd label can be read back.",
            {"baseline": ("a_file_that_is_written_for_any_label_can_be_read_back",)},
        ),
    ),
    "The right one is blamed": (
        (
            (
                "What a call leaves is looked for after each, one that raises too: where modules are searched, limits, timers, umask, "
                "recursion limit, gc, locale, denormal numbers, rounding, torch's default dtype, gradients and threads, decimal numbers, "
                "blocked signals, the codec of standard output, patched modules."
            ),
            {
                "left_behind": (
                    "what_a_call_leaves_is_seen_whether_it_returns_or_raises",
                    "a_builtin_that_a_call_replaces_is_told_by_name",
                    "code_that_fails_for_what_it_replaced_itself_is_wrong_and_its_declaration_is_not_blamed",
                    "a_call_that_replaces_what_a_worker_answers_with_is_answered_and_told",
                ),
                "library": ("what_is_replaced_is_told_and_put_back", "a_name_of_numpy_that_is_replaced_is_told_and_put_back"),
            },
        ),
        (
            "Another implementation is asked in a fresh worker then; who left it is named, and nobody else is convicted.",
            {
                "left_behind": (
                    "who_left_something_by_an_exception_is_named_and_nobody_else_is_convicted",
                    "what_a_predicate_leaves_is_told_of_it_and_convicts_nobody_else",
                    "what_piles_up_is_counted_to_who_piled_it_up",
                    "a_pile_below_the_limit_ends_before_another_implementation_is_asked",
                )
            },
        ),
        (
            "A leak, a pile of processes and an exit stay what they are, and the report adds that the call passes in a fresh worker.",
            {
                "left_behind": (
                    "an_exit_after_some_calls_stays_an_exit",
                    "a_pile_of_processes_stays_one",
                    "a_leak_stays_a_leak",
                    "an_exit_after_some_calls_stays_an_exit_one_by_one",
                ),
                "piling": ("right_code_that_keeps_tables_conforms_with_a_note_and_a_leak_is_convicted",),
            },
        ),
        (
            "The seed of hashes is fixed, so that a command gives the same verdict each time.",
            {
                "left_behind": (
                    "the_hash_seed_of_the_environment_changes_no_verdict",
                    "implementations_that_a_set_puts_in_another_order_are_judged_all_the_same",
                ),
                "harness_outcomes": ("the_same_seed_gives_the_same_report",),
            },
        ),
        (
            "It is varied once on purpose: what changes then *depends on hash order*.",
            {
                "left_behind": (
                    "what_depends_on_hash_order_is_called_that",
                    "what_ends_calls_under_another_hash_seed_only_is_told_of_it",
                    "a_target_that_starts_under_one_hash_seed_only_loses_no_other_check",
                ),
                "history_late": ("hash_order_is_told_only_where_answers_repeat_under_each_seed",),
            },
        ),
        (
            "An answer that changes by itself is *not deterministic*, and told as no wrong value, broken law or history.",
            {
                "harness_outcomes": ("a_random_answer_is_not_deterministic_and_not_called_history",),
                "left_behind": (
                    "an_answer_that_changes_from_worker_to_worker_is_called_not_deterministic",
                    "an_exception_in_some_calls_is_called_not_deterministic",
                    "an_earlier_call_is_the_cause_only_where_that_repeats",
                ),
                "history_workers": (
                    "an_answer_that_is_wrong_two_times_in_five_is_told_as_not_deterministic_and_never_as_a_wrong_value",
                    "answers_that_are_wrong_otherwise_at_every_call_are_told_as_not_deterministic_alone",
                    "answers_that_are_wrong_otherwise_at_every_call_are_told_so_one_by_one",
                    "values_that_are_wrong_alike_stay_so_beside_answers_that_change_by_an_ulp",
                ),
            },
        ),
    ),
    "Output": (
        (
            "Only regular files are replaced. `--output`, `--report`, `export` and `--plot` follow links and write into anything else.",
            {
                "files": (
                    "every_command_writes_through_a_link_and_into_a_device",
                    "reports_are_written_through_links",
                    "a_pipe_is_written_into",
                    "a_pipe_that_nobody_reads_is_refused",
                    "a_device_is_written_into",
                    "files_are_written_in_one_place",
                )
            },
        ),
        (
            "A folder that is missing is wrong usage.",
            {
                "files": (
                    "a_folder_that_is_missing_is_wrong_usage",
                    "a_place_for_no_file_is_refused",
                    "a_link_into_a_missing_folder_is_refused_with_the_folder_that_it_leads_to",
                    "a_link_that_leads_to_itself_is_refused_and_stays",
                )
            },
        ),
        (
            "Standard streams that are closed are opened on nothing.",
            {
                "left_behind": ("streams_that_are_closed_change_no_verdict",),
                "faults_elsewhere": (
                    "streams_that_are_closed_change_no_status",
                    "streams_that_are_closed_change_no_status_of_parts_side_by_side",
                ),
            },
        ),
        ("No core files are written.", {"left_behind": ("a_worker_writes_no_core_file",)}),
    ),
    "Each fault has a clear outcome": (
        (
            "A forged reply in a good frame (70 axes, deep nesting, wrong types) ends its call and no other.",
            {
                "channel": ("what_is_no_frame_is_refused",),
                "replies": (
                    "a_reply_of_another_form_is_refused_in_one_line",
                    "a_forged_reply_ends_its_call_and_no_other",
                    "whatever_a_damaged_reply_says_it_is_used_or_refused_clearly",
                    "a_second_reply_is_never_taken_for_that_of_the_next_call",
                    "garbage_after_an_answer_is_told_as_garbage",
                ),
            },
        ),
        (
            "A crash, an exception or a time-out of a call that no check judges is told.",
            {
                "nothing_lost": (
                    "what_becomes_of_a_call_that_no_check_judges_is_told",
                    "a_predicate_that_ends_its_worker_once_is_told",
                )
            },
        ),
        (
            "A worker or a program that is stopped is ended at once and told of who answered last.",
            {
                **ZOO,
                "protocol_unasked": ("the_next_call_is_answered_and_the_one_before_is_told",),
                "keeper": ("a_worker_that_stops_after_its_answer_is_told_at_once",),
            },
        ),
        (
            "A worker that describes itself otherwise at another start is told.",
            {
                "nothing_lost": ("a_worker_that_describes_itself_otherwise_when_it_starts_again_is_told",),
                "clear_lines": ("a_worker_that_describes_itself_otherwise_is_never_taken_for_the_first",),
            },
        ),
        (
            "An adapter whose name is no text is told what must be.",
            {"clear_lines": ("an_adapter_of_other_types_is_told_what_must_be",), **ZOO},
        ),
        (
            "What can be called and has no signature is called.",
            {
                "clear_lines": (
                    "a_callable_without_a_plain_signature_is_called",
                    "a_callable_that_takes_something_else_fails_in_its_call_alone",
                )
            },
        ),
        (
            "An integer of 400 digits, in a record, on a line or in a file of deviations, is told with its length.",
            {
                "clear_lines": (
                    "an_integer_of_four_hundred_digits_in_a_record_is_told_with_its_length",
                    "an_integer_of_hundreds_of_digits_on_a_line_is_told_with_its_length",
                    "an_integer_of_four_hundred_digits_in_a_file_of_deviations_is_told",
                )
            },
        ),
        (
            "A real-time signal has a name.",
            {"keeper": ("a_real_time_signal_has_a_name", "a_program_ended_by_a_real_time_signal_is_told_too")},
        ),
        (
            "A child that holds standard output keeps nobody waiting.",
            {
                "keeper": ("a_child_that_holds_standard_output_keeps_nobody_waiting",),
                "protocol": (
                    "a_program_that_ends_beside_a_child_that_holds_its_output_has_crashed",
                    "an_answer_beside_a_child_that_holds_the_output_counts",
                ),
            },
        ),
        (
            "No process outlives the run, those beyond `--processes` included.",
            {
                "keeper": ("more_processes_than_allowed_are_all_ended", "what_a_worker_has_started_ends_with_it"),
                "reliability": ("no_process_is_left",),
            },
        ),
        (
            "Records of 65 MB are compared in seconds: the slow reader is never asked about what was written by a run.",
            {
                "clear_lines": (
                    "a_record_as_it_was_written_never_asks_the_slow_reader",
                    "the_fast_reader_of_a_schema_takes_nothing_that_the_whole_one_refuses",
                )
            },
        ),
        (
            "`uint64`, a long header and the like are told with the limit that was met.",
            {
                "clear_lines": (
                    "a_result_that_cannot_be_sent_says_the_limit_that_it_met",
                    "a_description_longer_than_a_header_says_the_limit",
                )
            },
        ),
    ),
    "Isolation": (
        (
            "A worker's environment lacks secrets.",
            {"left_behind": ("a_worker_sees_no_secret_of_its_environment_unless_it_is_named",)},
        ),
        (
            "A variable that code asks for and that is withheld from it is told: where its import or a call fails, and where nothing does.",
            {
                "left_behind": (
                    "a_target_that_lacks_a_variable_when_it_is_imported_is_told_which",
                    "every_report_says_which_variable_a_call_lacks",
                ),
                "faults_elsewhere": (
                    "every_command_says_which_variable_code_asks_for_and_lacks_where_nothing_fails",
                    "identify_says_which_variable_a_function_asks_for_and_lacks",
                ),
            },
        ),
        (
            "On Linux a worker can't open the memory of the process that judges, to read or to write.",
            {
                "isolation": (
                    "a_worker_is_refused_the_memory_of_the_process_that_judges",
                    "a_worker_without_capabilities_is_refused_the_environment_too",
                    "the_memory_is_closed_while_there_are_workers_and_open_again_after_the_last",
                )
            },
        ),
        (
            "A target that imports the reference or the oracle, or opens the vectors, is reported.",
            {
                "isolation": (
                    "a_target_that_looks_for_right_answers_is_told",
                    "a_module_of_the_target_that_imports_the_reference_is_named",
                    "every_report_says_that_right_answers_are_at_hand",
                    "what_the_harness_itself_imports_accuses_nobody",
                )
            },
        ),
        (
            "What is guaranteed and what isn't is said in plain words, and no message holds an expected value.",
            {
                "isolation": ("what_is_guaranteed_and_what_is_not_is_told_in_plain_words",),
                "harness_session": ("expected_values_are_never_sent",),
            },
        ),
    ),
    "This page, and long runs": (
        ("This page lists every fault with its outcome.", {"reliability": (*ZOO["reliability"], "the_document_says_what_was_reported")}),
        (
            "Faults leave no process, no file and no lost result.",
            {"reliability": (ZOO["reliability"][0], "no_process_is_left", "no_file_is_left")},
        ),
        (
            "The [soak](soak.md) kills 200 runs, 50 of them by SIGTERM.",
            {"soak": ("the_record_tells_of_two_hundred_kills_fifty_of_them_by_sigterm_and_of_no_failure",)},
        ),
    ),
    "`identify`, `precision`, `compare` and pytest keep the same promises": (
        (
            "They tell a fault and go on; `compare` runs the reference alone and starts no worker.",
            {"faults_elsewhere": ("a_command_tells_a_fault_and_goes_on", "compare_starts_no_worker")},
        ),
        (
            "A worker that starts no second time loses nothing.",
            {
                "faults_elsewhere": (
                    "a_worker_that_starts_no_second_time_loses_nothing",
                    "a_worker_that_starts_no_second_time_loses_nothing_in_pytest",
                )
            },
        ),
        (
            "Code of which one worker can run is served by one; `pytest -n` says in one line that it must be judged without `-n`.",
            {
                "faults_elsewhere": (
                    "identify_checks_the_adapter_of_code_that_allows_one_worker_at_a_time",
                    "code_of_which_one_worker_can_run_is_served_by_one",
                ),
                "pytest_plugin": ("a_target_of_which_one_worker_can_run_is_told_in_one_line_where_processes_share_the_tests",),
            },
        ),
        (
            "A bad target, file or scheme among several is told, and hides no other.",
            {
                "faults_elsewhere": (
                    "a_bad_target_among_several_fails_as_a_test_and_the_others_are_judged",
                    "a_target_that_can_not_be_imported_is_wrong_usage",
                    "a_scheme_that_can_not_be_compared_is_told_before_any_is",
                ),
                "pytest_plugin": ("every_target_that_can_not_be_judged_is_told",),
                "compare": ("a_scheme_that_refuses_a_length_says_why",),
            },
        ),
        (
            "A library that raises, exits or ends the process while a command imports it is named, before anything is measured.",
            {"compare": ("a_library_that_cannot_be_imported_is_named_before_anything_is_measured",)},
        ),
        (
            "What can't be written is told first, and a disk that is full later loses nothing that was found.",
            {
                "files": ("a_folder_that_can_not_be_written_to_is_told_before_anything_is_judged",),
                "faults_elsewhere": (
                    "a_full_disk_is_told_in_one_line",
                    "a_picture_that_can_not_be_written_loses_no_curve",
                    "a_picture_that_does_not_fit_on_the_disk_loses_nothing",
                    "a_folder_for_counterexamples_that_can_not_be_written_to_is_told_before_anything_is_judged",
                    "a_counterexample_that_does_not_fit_on_the_disk_loses_no_failure",
                    "pytest_on_a_full_disk_is_no_success_and_leaves_no_process",
                ),
            },
        ),
        (
            "An interruption leaves what was found, and no worker outlives the command.",
            {
                "faults_elsewhere": (
                    "what_ends_a_command_leaves_what_was_found_and_no_worker",
                    "a_worker_ends_with_a_command_that_is_killed",
                    "an_interruption_leaves_the_curves_before_it",
                    "an_interruption_leaves_the_lengths_before_it",
                    "an_interruption_leaves_the_functions_before_it",
                ),
                "pytest_plugin": ("an_interruption_at_an_instruction_of_no_line_is_told_as_any_other",),
            },
        ),
        (
            "What a call leaves behind, hash order, chance, and an end that does not repeat are told as that.",
            {
                "faults_elsewhere": (
                    "what_a_function_leaves_behind_and_how_it_ends_later_is_told",
                    "what_a_call_leaves_behind_is_told_of_it_in_pytest",
                    "what_a_worker_says_after_its_answers_is_told_in_pytest_whatever_is_chosen",
                    "identify_says_what_changes_answers_besides_the_calls",
                    "precision_tells_of_a_crash_that_passed_when_it_was_asked_again",
                    "precision_tells_of_calls_that_gave_nothing",
                ),
                "identify": ("what_one_function_leaves_is_told_of_it_and_the_next_is_asked_in_a_fresh_process",),
                "protocol_unasked": ("every_command_leaves_out_the_rest_of_what_ends_its_worker_after_its_answers",),
            },
        ),
        (
            "Right answers at hand are told; workers are started in one place, so that memory, environment and limits are the same.",
            {
                "faults_elsewhere": ("precision_tells_that_right_answers_are_at_hand", "workers_are_started_in_one_place"),
            },
        ),
    ),
}


def told() -> list[str]:
    """Return the promises as a table, with the tests that show each."""
    lines = ["## What is promised, and the tests that show it", ""]
    for title, promises in PROMISES.items():
        lines += [f"**{title}.**", "", "| promise | shown in `tests` by |", "|---|---|"]
        lines += [f"| {words} | {'<br>'.join(_shown(tests))} |" for words, tests in promises]
        lines += [""]
    return lines


def _shown(tests: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"`test_{file}.py::test_{name}`" for file, names in tests.items() for name in names]
