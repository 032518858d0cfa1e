/* map_lead.c -- rank 0 of a shared job, from the first order to the last.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "engine/driver.h"
#include "model/platform/generate.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_master.h"
#include "policy/compound/registry.h"

/* --- events of the others ----------------------------------------------------------------- */

static void event_came(void *context, struct cv_map_requests_item *item, int from)
{
    struct cv_map_master *master = context;
    const struct cv_map_message note = master->note;
    struct cleave_error err;

    if (note.kind == CV_MAP_LEFT)
        master->left++;
    /* Nothing more comes when all have left. */
    if (master->left < master->nworkers &&
        cv_map_requests_begin(&master->requests, item, &err) != CLEAVE_OK)
        cv_map_fail(master, &err);
    if (note.kind == CV_MAP_COMPUTED) {
        cv_map_computed(master, (uint32_t)from - 1, &note);
    } else if (note.kind == CV_MAP_FOLDED) {
        cv_map_folded(master, &note);
    } else if (note.kind == CV_MAP_FAILED) {
        cv_map_error_of(&note, &err);
        cv_map_fail(master, &err);
    }
}

static enum cleave_status listen(struct cv_map_master *master, struct cleave_error *err)
{
    master->listen =
        (struct cv_map_requests_item){ .done = event_came,
                                       .context = master,
                                       .bytes = (unsigned char *)&master->note,
                                       .size = sizeof master->note,
                                       .rank = MPI_ANY_SOURCE,
                                       .tag = CV_MAIL_EVENT,
                                       .in = true };
    return cv_map_requests_begin(&master->requests, &master->listen, err);
}

/* --- the run ------------------------------------------------------------------------------ */

static enum cleave_status check(const struct cv_map_master *master,
                                struct cleave_error *err)
{
    const struct cleave_mpi_map *map = master->map;

    if (map->combine == NULL && map->collect == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'combine' or 'collect', got neither");
    if (map->units >= (uint64_t)1 << 53)
        return cv_fail(err, CLEAVE_EINPUT, "expected fewer than 2^53 units, got %llu",
                       (unsigned long long)map->units);
    if (map->platform != NULL &&
        cleave_platform_nworkers(map->platform) != master->nworkers)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a platform of %u workers, one per rank but the first, "
                       "got one of %u",
                       master->nworkers, cleave_platform_nworkers(map->platform));
    return CLEAVE_OK;
}

static enum cleave_status drive(struct cv_map_master *master,
                                const struct cleave_platform *platform,
                                struct cleave_error *err)
{
    static const struct cleave_setting no_settings[1];
    const struct cleave_mpi_map *map = master->map;
    const struct cv_run run = { .platform = platform };
    const bool apart = master->plan != NULL;
    const struct cleave_policy *policy;
    struct cv_planned planned;
    struct cv_driver *driver;
    struct cv_outcome outcome;
    enum cleave_status status;

    CV_TRY(
        cleave_policy_find(CLEAVE_TASK_LOAD,
                           map->policy != NULL ? map->policy : cv_policy_of_runs()->name,
                           &policy, err));
    CV_TRY(cv_planned_init(&planned, policy,
                           map->settings != NULL ? map->settings : no_settings,
                           map->settings != NULL ? map->nsettings : 0, platform,
                           cleave_platform_workers(platform),
                           &(struct cv_load){ .units = (double)map->units,
                                              .folders = apart ? master->nworkers : 0,
                                              .folds_apart = apart },
                           NULL, err));
    status = cv_driver_open(&planned, &cv_engine_map, platform, master, &driver, err);
    if (status == CLEAVE_OK) {
        status = cv_driver_run(driver, &run, map->trace, &outcome, err);
        cv_driver_close(driver);
    }
    cv_planned_done(&planned);
    return status;
}

static enum cleave_status run_load(struct cv_map_master *master, struct cleave_error *err)
{
    const struct cleave_mpi_map *map = master->map;
    struct cleave_platform *made = NULL;
    const struct cleave_platform *platform = map->platform;
    enum cleave_status status;

    if (map->units == 0)
        return CLEAVE_OK;
    if (platform == NULL) {
        CV_TRY(cv_nominal_platform(CV_NOMINAL_CALL, NULL, master->nworkers, &made, err));
        platform = made;
    }
    master->shares_port = cleave_platform_port(platform) != CLEAVE_PORT_MULTI;
    status = drive(master, platform, err);
    cleave_platform_free(made);
    return status;
}

static enum cleave_status run(struct cv_map_master *master, struct cleave_error *err)
{
    CV_TRY(check(master, err));
    master->members = calloc(master->nworkers, sizeof *master->members);
    master->may = calloc(master->nworkers, sizeof *master->may);
    if (master->members == NULL || master->may == NULL)
        return cv_fail_memory(err, "the workers");
    if (master->map->combine != NULL)
        CV_TRY(cv_fold_plan_new(master->nworkers, master->map->commutative,
                                CV_MAP_COMBINES, &master->plan, err));
    CV_TRY(run_load(master, err));
    if (!master->failed)
        CV_TRY(cv_map_units_check(&master->computed, master->map->units, err));
    return cv_map_finish(master, err);
}

/* --- the end ------------------------------------------------------------------------------ */

/* Tell all how it went, and wait until they have left. */
static enum cleave_status stop(struct cv_map_master *master, enum cleave_status status,
                               const struct cleave_error *error, struct cleave_error *err)
{
    struct cv_map_message note = { .kind = CV_MAP_STOP };

    if (status != CLEAVE_OK) {
        cv_map_note_error(&note, error);
        note.status = (uint32_t)status;
    }
    master->failed = true; /* whatever else comes is of no meaning */
    cv_map_tasks_drop(master->tasks);
    for (uint32_t w = 0; w < master->nworkers; w++)
        CV_TRY(cv_map_tell(&master->requests, (int)w + 1, &note, err));
    while (master->left < master->nworkers || master->requests.count > 0 ||
           cv_map_tasks_any(master->tasks))
        CV_TRY(cv_map_progress(&master->requests, master->tasks, 1, &master->last_s,
                               INFINITY, err));
    return CLEAVE_OK;
}

static void free_chunks(struct cv_map_chunk *chunk)
{
    while (chunk != NULL) {
        struct cv_map_chunk *next = chunk->next;

        cv_map_chunk_free(chunk);
        chunk = next;
    }
}

static void forget(struct cv_map_master *master)
{
    for (uint32_t w = 0; master->members != NULL && w < master->nworkers; w++) {
        free_chunks(master->members[w].chunks);
        free(master->members[w].wants);
    }
    free_chunks(master->returned);
    while (master->folds != NULL) {
        struct cv_map_fold *next = master->folds->next;

        free(master->folds);
        master->folds = next;
    }
    cv_fold_plan_free(master->plan);
    cv_map_units_free(&master->computed);
    cv_map_buffer_done(&master->value);
    free(master->members);
    free(master->may);
    free(master->events);
    free(master->wakes);
    cv_map_requests_done(&master->requests);
}

enum cleave_status cv_map_lead(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_mpi_result *out,
                               struct cleave_error *err)
{
    struct cv_map_master master = { .map = map, .tasks = tasks, .next_id = 1 };
    struct cleave_error end;
    enum cleave_status status;
    int size;

    MPI_Comm_size(comm, &size);
    master.nworkers = (uint32_t)size - 1;
    master.queue_end = &master.queue;
    master.began_s = master.last_s = cv_idle_wait_clock_s();
    cv_map_requests_init(&master.requests, comm);
    status = listen(&master, err);
    if (status == CLEAVE_OK) {
        status = run(&master, err);
        if (stop(&master, status, err, &end) != CLEAVE_OK) {
            *err = end;
            status = end.status;
            MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
        }
    }
    if (status == CLEAVE_OK) {
        *out = master.counts;
        out->value = master.value;
        master.value = (struct cleave_mpi_buffer){ 0 };
    }
    forget(&master);
    return status;
}
