/* host_job.c -- tell another machine who is there and what is to be done.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <cleave/version.h>

#include "run/hosts/remote_host.h"
#include "run/common/machine.h"

enum {
    JOB_FRAME = 64 * 1024
}; /* bytes of a job in a frame: a whole one is a sign of life */

/* A worker waits longer for its master than the other way round: a master that was asleep
 * should find it again. */
static const double PATIENCE = 3;

void cv_host_send_hello(struct cv_host *host)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    const uint64_t mark = host->words != NULL ? cv_begin_mark_key() : 0;

    if (mark != 0)
        cv_connect_stderr_expect(&host->login_stderr, mark);
    cv_pack_hello(&packer, &(struct cv_hello){ .version = CLEAVE_VERSION,
                                               .host = "master",
                                               .cores = cv_usable_cores() });
    if (!packer.failed)
        cv_link_send(&host->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_HELLO, .value = mark },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

const char *cv_host_worker_name(const struct cv_host *host, uint32_t i,
                                char out[CV_HOST_NAME_ROOM])
{
    snprintf(out, CV_HOST_NAME_ROOM, host->slots == 1 ? "%.255s" : "%.255s.%u",
             host->name, i);
    return out;
}

/* The names of its workers: those of their places, if it has some. */
static const char **list_names(const struct cv_host *host, struct cv_arena *arena)
{
    const char **names = cv_array(arena, host->slots + 1u, sizeof *names);
    char made[CV_HOST_NAME_ROOM];

    for (uint32_t i = 0; names != NULL && i < host->slots; i++) {
        names[i] = host->first != CV_HOST_NOWHERE
                       ? host->hosts->names[host->first + i]
                       : cv_arena_text(arena, cv_host_worker_name(host, i, made));
        if (names[i] == NULL)
            return NULL;
    }
    return names;
}

static enum cleave_status pack_job(const struct cv_host *host, const char **names,
                                   struct cv_packer *packer, struct cleave_error *err)
{
    static const char *const nothing[] = { NULL };
    const struct cv_host_terms *terms = &host->hosts->terms;
    /* The words are only read. */
    union {
        const char *const *in;
        const char **out;
    } command = { terms->command },
      environment = { terms->environment != NULL ? terms->environment : nothing };
    struct cv_remote_job job = {
        .command = command.out,
        .names = names,
        .environment = environment.out,
        .directory = terms->work_directory != NULL ? terms->work_directory : "",
        .persistent = terms->persistent,
        .hashes = terms->hashes,
        .items = terms->items,
        .cleanup = terms->cleanup,
        .lines = terms->lines,
        .early = terms->early,
        .timeout_s = terms->command_timeout_s,
        .silence_s = PATIENCE * terms->silence_s,
        .memory = terms->memory > 0 ? terms->memory : CV_GATHER_MEMORY,
        .files = host->may_share ? host->hosts->files : NULL,
        .nfiles = host->may_share ? host->hosts->nfiles : 0,
    };

    if (names == NULL)
        return cv_fail_memory(err, "a job");
    cv_pack_job(packer, &job);
    return packer->failed ? cv_fail_memory(err, "a job") : CLEAVE_OK;
}

enum cleave_status cv_host_send_job(struct cv_host *host, struct cleave_error *err)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    enum cleave_status status;
    struct cv_arena arena;

    cv_arena_init(&arena);
    status = pack_job(host, list_names(host, &arena), &packer, err);
    cv_arena_done(&arena);
    if (status == CLEAVE_OK)
        host->link.most_pending += packer.length;
    for (size_t at = 0; status == CLEAVE_OK && at < packer.length; at += JOB_FRAME) {
        const size_t left = packer.length - at;
        const bool last = left <= JOB_FRAME;

        cv_link_send(&host->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_JOB,
                                              .flags = last ? CV_FRAME_LAST : 0 },
                     packer.bytes + at, last ? left : JOB_FRAME);
    }
    cv_pack_done(&packer);
    return status;
}
