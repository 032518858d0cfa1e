/* test_wire_rules.c -- which frame may come when, at the master and at a worker.
 * SPDX-License-Identifier: MIT
 *
 * Every frame in every stage: listed frames may come, all others may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/hosts/hosts_internal.h"
#include "run/wire/protocol.h"
#include "run/wire/frame.h"
#include "run/worker/worker_internal.h"

/* Names of frames, concatenated. REFUSED may always come. */
static const char *const from_hosts[CV_STAGES] = {
    [CV_STAGE_CONNECTING] = "HELLO",
    [CV_STAGE_GREETED] = "READY",
    [CV_STAGE_SERVES] = "NOTICE",
    [CV_STAGE_NO_PIECE] = "",
    [CV_STAGE_SENDING] = "GOT",
    [CV_STAGE_SENT] = "GOT",
    [CV_STAGE_ARRIVED] = "LINES COMPUTED BACK",
    [CV_STAGE_OPEN] = "GOT STARTED FED DRAINED SEEN LINES COMPUTED",
    [CV_STAGE_SHUT] = "STARTED FED SEEN LINES COMPUTED",
    [CV_STAGE_STOPPING] = "STARTED FED SEEN LINES COMPUTED END BACK",
    [CV_STAGE_COMPUTED] = "OUTPUT END",
    [CV_STAGE_KEEPING] = "END",
    [CV_STAGE_GIVEN_UP] = "GOT STARTED FED DRAINED SEEN LINES COMPUTED OUTPUT END BACK",
    [CV_STAGE_CUT_DUE] = "CUT_DONE",
    [CV_STAGE_NO_SEAT] = "",
    [CV_STAGE_PLAIN] = "",
    [CV_STAGE_STAYS] = "LEFT SILENT",
    [CV_STAGE_TOLD] = "LEFT",
    [CV_STAGE_IDLE] = "",
    [CV_STAGE_LEAVING] = "LEFT SILENT HAS_LEFT",
    [CV_STAGE_NO_FOLD] = "",
    [CV_STAGE_FOLDING] = "FOLDED FOLD_FAILED",
    [CV_STAGE_OFF] = "FOLDED FOLD_FAILED",
    [CV_STAGE_FETCHING] = "PARTIAL",
    [CV_STAGE_HOLDS] = "HEADWAY",
};

static const char *const from_masters[CV_WORKER_STAGES] = {
    [CV_WORKER_NEW] = "HELLO",
    [CV_WORKER_GREETED] = "JOB",
    [CV_WORKER_NO_SEAT] = "",
    [CV_WORKER_SEAT] = "LEAVE",
    [CV_WORKER_UNHEARD] = "TOLD PIECE",
    [CV_WORKER_COMING] = "DATA PACKED DRAWN STOP SHOW",
    [CV_WORKER_OPEN] = "DATA PACKED MORE CUT STOP LOOK SHOW",
    [CV_WORKER_COMPLETE] = "CUT STOP LOOK SHOW",
    [CV_WORKER_OVER] = "CUT STOP LOOK SHOW",
    [CV_WORKER_CUT_SHORT] = "DATA PACKED MORE CUT STOP LOOK SHOW",
    [CV_WORKER_ALONE] = "",
    [CV_WORKER_NO_FOLD] = "REDUCE",
    [CV_WORKER_FOLDS] = "GIVE FOLD FOLD_OFF FORGET FETCH FOLD_STOP",
};

/* Whether the name is a word of the list. */
static bool lists(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list; (at = strstr(at, name)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool expected(const char *list, uint8_t type)
{
    const struct cv_frame_kind *kind = cv_frame_kind(type);

    return kind != NULL && (type == CV_FRAME_REFUSED || lists(list, kind->name));
}

static void host_may_send_each_frame_only_in_its_stages(void **state)
{
    (void)state;
    for (int stage = 0; stage < CV_STAGES; stage++) {
        assert_non_null(from_hosts[stage]);
        for (unsigned type = 0; type < 256; type++) {
            const char *refused =
                cv_frame_refused_by_host((enum cv_stage)stage, (uint8_t)type);

            if ((refused == NULL) != expected(from_hosts[stage], (uint8_t)type))
                fail_msg("%s in stage %d", cv_frame_name((uint8_t)type), stage);
            assert_true(refused == NULL || strlen(refused) > 0);
        }
    }
}

static void master_may_send_each_frame_only_in_its_stages(void **state)
{
    (void)state;
    for (int stage = 0; stage < CV_WORKER_STAGES; stage++) {
        assert_non_null(from_masters[stage]);
        for (unsigned type = 0; type < 256; type++) {
            const char *refused =
                cv_frame_refused_by_worker((enum cv_worker_stage)stage, (uint8_t)type);

            if ((refused == NULL) != expected(from_masters[stage], (uint8_t)type))
                fail_msg("%s in stage %d", cv_frame_name((uint8_t)type), stage);
            assert_true(refused == NULL || strlen(refused) > 0);
        }
    }
}

/* --- where things stand ------------------------------------------------------------------- */

static enum cv_stage stage_of(const struct cv_host *host, uint8_t type, uint32_t seat,
                              uint64_t chunk)
{
    const struct cv_frame_head head = { .type = type, .peer = seat, .chunk = chunk };
    struct cv_slot *slot;

    return cv_host_stage(host, &head, &slot);
}

/* A host of two slots; the piece 5 is one of slot 1. */
static void a_piece_goes_from_stage_to_stage(void **state)
{
    struct cv_hosts hosts = { .nready = 1 };
    struct cv_host_seat seats[2] = { { 0 } };
    struct cv_remote remote = { .seat = 1, .facts.number = 5 };
    struct cv_slot slot = { .busy = true, .remote = &remote };
    struct cv_host host = { .hosts = &hosts, .slots = 2, .seats = seats };

    (void)state;
    host.first_slot = &slot;
    remote.host = &host;
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 1, 5), CV_STAGE_GREETED);
    host.state = CV_HOST_CONNECTING;
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 1, 5), CV_STAGE_CONNECTING);
    host.state = CV_HOST_GREETED;
    assert_int_equal(stage_of(&host, CV_FRAME_FOLDED, 1, 5), CV_STAGE_GREETED);
    host.state = CV_HOST_READY;
    remote.queue = &host.queue;
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 1, 5), CV_STAGE_NO_PIECE);
    remote.facts.progress = CV_PIECE_ANNOUNCED;
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 1, 5), CV_STAGE_SENDING);
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 0, 5), CV_STAGE_NO_PIECE);
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 1, 4), CV_STAGE_NO_PIECE);
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 2, 5), CV_STAGE_NO_SEAT);
    remote.queue = NULL;
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 1, 5), CV_STAGE_SENT);
    remote.facts.progress = CV_PIECE_ARRIVED;
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 1, 5), CV_STAGE_ARRIVED);
    assert_int_equal(stage_of(&host, CV_FRAME_CUT_DONE, 1, 5), CV_STAGE_ARRIVED);
    remote.facts.cutting = true;
    assert_int_equal(stage_of(&host, CV_FRAME_CUT_DONE, 1, 5), CV_STAGE_CUT_DUE);
    assert_int_equal(stage_of(&host, CV_FRAME_END, 1, 5), CV_STAGE_ARRIVED);
    slot.stopping = true;
    assert_int_equal(stage_of(&host, CV_FRAME_END, 1, 5), CV_STAGE_STOPPING);
    remote.facts.progress = CV_PIECE_COMPUTED;
    assert_int_equal(stage_of(&host, CV_FRAME_END, 1, 5), CV_STAGE_COMPUTED);
    hosts.reduce = &(struct cv_packer){ .length = 0 };
    assert_int_equal(stage_of(&host, CV_FRAME_OUTPUT, 1, 5), CV_STAGE_KEEPING);
    slot.busy = false;
    assert_int_equal(stage_of(&host, CV_FRAME_END, 1, 5), CV_STAGE_NO_PIECE);
    assert_int_equal(stage_of(&host, CV_FRAME_PARTIAL, 1, 5), CV_STAGE_NO_FOLD);
    assert_int_equal(stage_of(&host, CV_FRAME_NOTICE, 7, 5), CV_STAGE_SERVES);
    host.noticed = true;
    assert_int_equal(stage_of(&host, CV_FRAME_NOTICE, 0, 5), CV_STAGE_TOLD);
}

static void an_open_piece_has_separate_stages(void **state)
{
    struct cv_hosts hosts = { .nready = 1 };
    struct cv_host_seat seats[1] = { { 0 } };
    struct cv_remote remote = { .facts.number = 5 };
    struct cv_slot slot = { .busy = true,
                            .remote = &remote,
                            .open = { .on = true, .more = true } };
    struct cv_host host = {
        .hosts = &hosts, .slots = 1, .seats = seats, .state = CV_HOST_READY
    };

    (void)state;
    host.first_slot = &slot;
    remote.host = &host;
    assert_int_equal(stage_of(&host, CV_FRAME_STARTED, 0, 5), CV_STAGE_NO_PIECE);
    remote.facts.progress = CV_PIECE_ANNOUNCED;
    assert_int_equal(stage_of(&host, CV_FRAME_STARTED, 0, 5), CV_STAGE_OPEN);
    remote.queue = &host.queue;
    assert_int_equal(stage_of(&host, CV_FRAME_GOT, 0, 5), CV_STAGE_OPEN);
    remote.queue = NULL;
    remote.facts.progress = CV_PIECE_ARRIVED;
    assert_int_equal(stage_of(&host, CV_FRAME_SEEN, 0, 5), CV_STAGE_SHUT);
    remote.facts.progress = CV_PIECE_COMPUTED;
    assert_int_equal(stage_of(&host, CV_FRAME_END, 0, 5), CV_STAGE_COMPUTED);
    remote.facts.progress =
        CV_PIECE_CUT_SHORT; /* its command has ended before all of it had arrived */
    assert_int_equal(stage_of(&host, CV_FRAME_END, 0, 5), CV_STAGE_COMPUTED);
}

/* Owed frames about a piece come once. */
static void a_debt_is_paid_once(void **state)
{
    struct cv_hosts hosts = { .nready = 1 };
    struct cv_host_seat seats[1] = { { 0 } };
    struct cv_host host = {
        .hosts = &hosts, .slots = 1, .seats = seats, .state = CV_HOST_READY
    };
    struct cv_remote remote = { .facts.number = 9 };
    struct cv_slot slot = { .busy = false, .remote = &remote };
    const struct cv_frame_head end = { .type = CV_FRAME_END, .chunk = 9 },
                               cut = { .type = CV_FRAME_CUT_DONE, .chunk = 9 };

    (void)state;
    cv_host_owes(&host, &slot, false, false);
    assert_int_equal(host.nowed, 0);
    cv_host_owes(&host, &slot, true, true);
    assert_int_equal(stage_of(&host, CV_FRAME_END, 0, 9), CV_STAGE_GIVEN_UP);
    assert_int_equal(stage_of(&host, CV_FRAME_CUT_DONE, 0, 9), CV_STAGE_CUT_DUE);
    cv_host_paid(&host, &end);
    assert_int_equal(stage_of(&host, CV_FRAME_END, 0, 9), CV_STAGE_NO_PIECE);
    assert_int_equal(stage_of(&host, CV_FRAME_CUT_DONE, 0, 9), CV_STAGE_CUT_DUE);
    cv_host_paid(&host, &cut);
    assert_int_equal(stage_of(&host, CV_FRAME_CUT_DONE, 0, 9), CV_STAGE_NO_PIECE);
    assert_int_equal(host.nowed, 0);
    /* The number of owed frames is limited. */
    for (uint64_t i = 0; i < 100000; i++) {
        remote.facts.number = i;
        cv_host_owes(&host, &slot, true, false);
    }
    assert_int_equal(host.nowed, 1 << 16);
    free(host.owed);
}

static void commands_that_stay_have_stages_as_well(void **state)
{
    struct cv_hosts hosts = { .nready = 1 };
    struct cv_host_seat seats[1] = { { 0 } };
    struct cv_host host = {
        .hosts = &hosts, .slots = 1, .seats = seats, .state = CV_HOST_READY
    };

    (void)state;
    assert_int_equal(stage_of(&host, CV_FRAME_LEFT, 0, 0), CV_STAGE_PLAIN);
    assert_int_equal(stage_of(&host, CV_FRAME_SILENT, 1, 0), CV_STAGE_NO_SEAT);
    hosts.terms.job.persistent = true;
    assert_int_equal(stage_of(&host, CV_FRAME_LEFT, 0, 0), CV_STAGE_IDLE);
    seats[0].given = 2;
    assert_int_equal(stage_of(&host, CV_FRAME_LEFT, 0, 0), CV_STAGE_STAYS);
    assert_int_equal(stage_of(&host, CV_FRAME_HAS_LEFT, 0, 0), CV_STAGE_STAYS);
    seats[0].silent = seats[0].left = 1;
    assert_int_equal(stage_of(&host, CV_FRAME_SILENT, 0, 0), CV_STAGE_STAYS);
    seats[0].silent = 2;
    assert_int_equal(stage_of(&host, CV_FRAME_SILENT, 0, 0), CV_STAGE_TOLD);
    seats[0].command = CV_SEAT_LEAVING;
    assert_int_equal(stage_of(&host, CV_FRAME_SILENT, 0, 0), CV_STAGE_TOLD);
    assert_int_equal(stage_of(&host, CV_FRAME_HAS_LEFT, 0, 0), CV_STAGE_LEAVING);
    seats[0].left = 2;
    assert_int_equal(stage_of(&host, CV_FRAME_LEFT, 0, 0), CV_STAGE_IDLE);
}

static enum cv_worker_stage worker_stage(const struct cv_worker *worker, uint8_t type,
                                         uint32_t seat, uint64_t chunk)
{
    const struct cv_frame_head head = { .type = type, .peer = seat, .chunk = chunk };
    struct cv_task *task;

    return cv_worker_stage(worker, &head, &task);
}

/* Pieces 3 and 4 belong to slot 0, the numbers up to 4 have been received. */
static void a_worker_knows_its_announced_pieces(void **state)
{
    struct cv_task arriving = { .chunk = 3 }, complete = { .chunk = 4, .complete = true };
    struct cv_worker_slot seats[2];
    struct cv_worker worker = { .seats = seats };

    (void)state;
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 3), CV_WORKER_NEW);
    worker.greeted = true;
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 3), CV_WORKER_GREETED);
    worker.ready = true;
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 3), CV_WORKER_NO_SEAT);
    assert_int_equal(worker_stage(&worker, CV_FRAME_GIVE, 0, 3), CV_WORKER_ALONE);
    worker.nseats = 2;
    memset(seats, 0, sizeof seats);
    for (int i = 0; i < 2; i++)
        cv_tasks_init(&seats[i].tasks);
    assert_int_equal(worker_stage(&worker, CV_FRAME_PIECE, 0, 0), CV_WORKER_UNHEARD);
    cv_tasks_add(&seats[0].tasks, &arriving);
    cv_tasks_add(&seats[0].tasks, &complete);
    worker.next_chunk = 5;
    complete.open = true;
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 4), CV_WORKER_OPEN);
    complete.shut = true;
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 4), CV_WORKER_COMPLETE);
    seats[0].cut_short = 3;
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 2), CV_WORKER_CUT_SHORT);
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 1, 2), CV_WORKER_OVER);
    seats[0].cut_short = 0;
    assert_int_equal(worker_stage(&worker, CV_FRAME_PIECE, 0, 2), CV_WORKER_OVER);
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 3), CV_WORKER_COMING);
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 1, 3), CV_WORKER_OVER);
    assert_int_equal(worker_stage(&worker, CV_FRAME_DATA, 0, 4), CV_WORKER_COMPLETE);
    assert_int_equal(worker_stage(&worker, CV_FRAME_PIECE, 1, 5), CV_WORKER_UNHEARD);
    assert_int_equal(worker_stage(&worker, CV_FRAME_LEAVE, 1, 5), CV_WORKER_SEAT);
    assert_int_equal(worker_stage(&worker, CV_FRAME_LEAVE, 2, 5), CV_WORKER_NO_SEAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_may_send_each_frame_only_in_its_stages),
        cmocka_unit_test(master_may_send_each_frame_only_in_its_stages),
        cmocka_unit_test(a_piece_goes_from_stage_to_stage),
        cmocka_unit_test(an_open_piece_has_separate_stages),
        cmocka_unit_test(a_debt_is_paid_once),
        cmocka_unit_test(commands_that_stay_have_stages_as_well),
        cmocka_unit_test(a_worker_knows_its_announced_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
