/* host_job.c -- tell another machine who is there and what is to be done.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <cleave/version.h>

#include "run/hosts/remote_host.h"
#include "run/kit/usable_cores.h"

enum {
    JOB_FRAME = 64 * 1024
}; /* bytes of a job in a frame: a whole one is a sign of life */

/* A worker waits longer for its master than the other way round: a master that was asleep
 * should find it again. */
static const double PATIENCE = 3;

void cv_host_send_hello(struct cv_host *host)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_hello(&packer, &(struct cv_hello){ .version = CLEAVE_VERSION,
                                               .host = "master",
                                               .cores = cv_usable_cores() });
    if (!packer.failed)
        cv_link_send(&host->link, &(struct cv_frame_head){ .type = CV_FRAME_HELLO },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

static enum cleave_status pack_job(const struct cv_host *host, struct cv_packer *packer,
                                   struct cleave_error *err)
{
    static const char *const nothing[] = { NULL };
    const struct cv_host_terms *terms = &host->hosts->terms;
    const char **names = calloc(host->slots + 1u, sizeof *names);
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
        .timeout_s = terms->command_timeout_s,
        .silence_s = PATIENCE * terms->silence_s,
        .memory = terms->memory > 0 ? terms->memory : CV_GATHER_MEMORY,
        .files = host->may_share ? host->hosts->files : NULL,
        .nfiles = host->may_share ? host->hosts->nfiles : 0,
    };

    if (names == NULL)
        return cv_fail_memory(err, "a job");
    for (uint32_t i = 0; i < host->slots; i++)
        names[i] = host->hosts->names[host->first + i];
    cv_pack_job(packer, &job);
    free(names);
    return packer->failed ? cv_fail_memory(err, "a job") : CLEAVE_OK;
}

enum cleave_status cv_host_send_job(struct cv_host *host, struct cleave_error *err)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    const enum cleave_status status = pack_job(host, &packer, err);

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
