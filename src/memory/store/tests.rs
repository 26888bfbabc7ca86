//! What every store is held to. Each test is a function over a store that holds nothing yet; the list
//! below runs them all on each kind of store.

mod crash;
mod file;
mod kit;
mod places;
mod postgres;
mod scopes;
mod upkeep;
mod vectors;
mod versions;
mod words;
mod writes;

/// Runs the contract's tests on a kind of store: a module's name, and what gives a fresh store.
macro_rules! contract {
    ($name:ident, $open:expr) => {
        mod $name {
            contract! { @each $open;
                writes::an_accepted_write_waits_until_it_is_settled,
                writes::a_write_is_taken_and_settled_once,
                writes::a_receipt_is_told_to_its_tenant_only,
                writes::a_write_that_is_refused_leaves_a_receipt_and_no_version,
                writes::a_settlement_that_fails_changes_nothing,
                writes::vectors_of_another_length_are_refused_and_the_write_still_waits,
                writes::many_writers_at_once_lose_nothing,
                writes::a_receipt_tells_a_later_version_from_a_new_unit,
                writes::receipts_are_removed_some_time_after_their_last_stage,
                versions::a_version_comes_back_as_it_was_written,
                versions::recorded_times_rise_and_places_count_up,
                versions::versions_come_in_the_order_asked_for_and_of_one_tenant,
                versions::versions_are_found_by_source_digest_document_and_claim,
                versions::what_bears_on_several_writes_is_told_at_once,
                versions::a_new_version_is_held_against_what_holds_with_it_and_is_of_no_part_of_it,
                versions::what_takes_the_place_of_another_is_known_from_the_same_instant_on,
                versions::facts_that_arrive_out_of_order_are_told_by_both_times,
                versions::an_instant_is_the_same_whatever_its_offset,
                versions::a_list_goes_on_where_the_last_ended,
                words::chinese_words_of_any_length_are_found,
                words::long_chinese_questions_find_what_shares_words_with_them,
                words::a_question_is_text_and_never_syntax,
                words::spelling_makes_no_difference,
                words::a_long_text_gains_nothing_by_its_length,
                words::other_tenants_change_no_score,
                words::what_the_scope_may_not_look_into_changes_no_score,
                words::a_trigger_is_met_whole_or_by_its_words,
                words::entities_are_met_by_value_and_kind,
                words::the_words_of_chunks_come_in_the_order_asked_for,
                vectors::vectors_of_several_models_are_never_mixed,
                vectors::a_vector_of_another_length_fails_its_layer_only,
                vectors::a_filter_loses_none_of_the_nearest,
                vectors::chunks_without_a_vector_are_told_until_they_have_one,
                vectors::chunks_without_a_vector_are_counted_by_tenant,
                vectors::images_are_found_by_their_own_vectors,
                vectors::models_are_forgotten_but_for_one,
                vectors::models_of_images_are_each_tenants_own_and_few,
                vectors::chunks_that_are_passed_over_hide_none_behind_them,
                places::places_are_found_by_distance_and_area,
                places::the_nearest_rank_first_whatever_the_meridian,
                scopes::every_layer_keeps_to_the_scope,
                scopes::neighbours_are_those_of_the_group_in_the_scope,
                scopes::neighbours_are_not_looked_for_without_end,
                upkeep::a_run_is_undone_where_nothing_changed_since,
                upkeep::changes_are_made_all_or_none,
                upkeep::what_is_forgotten_was_known_before,
                upkeep::an_erased_unit_is_nowhere,
                upkeep::what_others_say_of_an_erased_unit_goes_with_it,
                upkeep::what_outlived_its_retention_is_removed_for_ever,
                upkeep::a_second_vote_takes_the_place_of_the_first,
                upkeep::votes_are_taken_back,
                upkeep::what_waits_is_refused_to_its_caller_alone,
                upkeep::a_run_is_of_one_tenant_and_names_its_collections,
                upkeep::what_is_said_again_moves_the_time_of_its_source_forward,
                upkeep::use_is_counted,
                upkeep::counts_are_of_one_tenant_or_all,
                upkeep::collections_stand_otherwise_after_each_change_of_what_they_show,
                upkeep::a_closed_store_says_so,
            }
        }
    };
    (@each $open:expr; $($part:ident :: $test:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let fresh = $open.await;
                super::$part::$test(&*fresh.store).await;
            }
        )*
    };
}

contract!(sqlite, super::kit::sqlite());
contract!(postgresql, super::postgres::postgresql());
