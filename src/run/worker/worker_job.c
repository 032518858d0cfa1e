/* worker_job.c -- make a worker ready for a job. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/common/machine.h"
#include "run/worker/worker_item.h"

enum { FRAME_MOST = 256 * 1024 };

static enum cleave_status set_environment(struct cv_worker *worker, uint32_t seat,
                                          struct cleave_error *err)
{
    struct cv_command *command = &worker->commands[seat];
    const uint32_t gpus = worker->options->gpus;
    char slot[16], gpu[256];

    if (gpus > 0) {
        CV_TRY(cv_gpu_name(seat % gpus, gpu, sizeof gpu, err));
        CV_TRY(cv_command_set(command, "CUDA_VISIBLE_DEVICES", gpu, err));
    }
    snprintf(slot, sizeof slot, "%u", seat + 1);
    CV_TRY(cv_command_set(command, "CLEAVE_SLOT", slot, err));
    CV_TRY(cv_command_set(command, "CLEAVE_WORKER", worker->job.names[seat], err));
    for (size_t i = 0; worker->job.environment[i] != NULL; i++) {
        const char *text = worker->job.environment[i], *sign = strchr(text, '=');
        char name[256];

        if (sign == NULL || sign == text || (size_t)(sign - text) >= sizeof name)
            return cv_fail(err, CLEAVE_EINPUT, "expected NAME=VALUE, got '%s'", text);
        snprintf(name, sizeof name, "%.*s", (int)(sign - text), text);
        CV_TRY(cv_command_set(command, name, sign + 1, err));
    }
    return CLEAVE_OK;
}

/* Whether the file that is here is the one of the master; else why not. */
static bool is_same(const struct cv_remote_file *file, int fd, char *why, size_t size)
{
    struct cv_content_hash ends;
    struct cleave_error err;
    struct stat facts;

    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        snprintf(why, size, "%s is no regular file", file->path);
        return false;
    }
    if ((uint64_t)facts.st_size != file->size ||
        (int64_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec !=
            file->mtime_ns) {
        snprintf(why, size, "%s has another size or was changed at another time",
                 file->path);
        return false;
    }
    if (cv_remote_ends(fd, file->size, file->path, &ends, &err) != CLEAVE_OK ||
        !cv_content_hash_equal(ends, file->ends)) {
        snprintf(why, size, "%s begins or ends with other bytes", file->path);
        return false;
    }
    return true;
}

static bool find_files(struct cv_worker *worker, char *why, size_t size)
{
    const struct cv_remote_job *job = &worker->job;

    if (job->nfiles == 0)
        return false;
    worker->files = malloc((size_t)job->nfiles * sizeof *worker->files);
    for (uint64_t i = 0; worker->files != NULL && i < job->nfiles; i++)
        worker->files[i] = -1;
    for (uint64_t i = 0; worker->files != NULL && i < job->nfiles; i++) {
        worker->files[i] = open(job->files[i].path, O_RDONLY | O_CLOEXEC);
        if (worker->files[i] >= 0 && is_same(&job->files[i], worker->files[i], why, size))
            continue;
        if (worker->files[i] < 0)
            snprintf(why, size, "%s: %s", job->files[i].path, strerror(errno));
        for (uint64_t k = 0; k <= i; k++)
            cv_close(&worker->files[k]);
        free(worker->files);
        worker->files = NULL;
    }
    return worker->files != NULL;
}

static enum cleave_status pin_commands(struct cv_worker *worker, uint32_t n,
                                       struct cleave_error *err)
{
    worker->pins = cv_array(&worker->arena, (size_t)n + 1, sizeof *worker->pins);
    return worker->pins != NULL
               ? cv_cpu_affinity_here(worker->options->pin, n, worker->pins, err)
               : cv_fail_memory(err, "the slots");
}

enum cleave_status cv_worker_prepare(struct cv_worker *worker, bool *out_shared,
                                     char *why, size_t size, struct cleave_error *err)
{
    struct cv_remote_job *job = &worker->job;
    uint32_t n = 0;

    if (!cv_unpack_job(worker->job_bytes.bytes, worker->job_bytes.length, &worker->arena,
                       job))
        return cv_fail(err, CLEAVE_EINPUT, "expected a job, got something else");
    worker->stays = job->persistent;
    if (worker->options->lead != NULL)
        CV_TRY(cv_worker_lead(worker, err));
    while (job->names[n] != NULL)
        n++;
    if (n > CV_SEATS_MOST)
        return cv_fail(err, CLEAVE_EINPUT, "expected a job of at most %d slots, got %u",
                       (int)CV_SEATS_MOST, n);
    /* Files are named as the master sees them, whatever the folder. */
    *out_shared = find_files(worker, why, size);
    CV_TRY(cv_worker_enter(worker, err));
    CV_TRY(
        cv_ordered_output_new(&(struct cv_ordered_output_options){ .sink = -1,
                                                                   .sink_name = "nowhere",
                                                                   .memory = job->memory,
                                                                   .lines = job->lines },
                              &worker->outputs, err));
    worker->commands = calloc(n, sizeof *worker->commands);
    worker->seats = calloc(n, sizeof *worker->seats);
    worker->bytes = malloc(FRAME_MOST);
    if (worker->commands == NULL || worker->seats == NULL || worker->bytes == NULL)
        return cv_fail_memory(err, "the slots");
    if (worker->options->pin != CLEAVE_PIN_NONE)
        CV_TRY(pin_commands(worker, n, err));
    for (; worker->nseats < n; worker->nseats++) {
        CV_TRY(
            cv_command_init(&worker->commands[worker->nseats], NULL, job->command, err));
        worker->ncommands++;
        if (worker->pins != NULL)
            worker->commands[worker->nseats].cpus = &worker->pins[worker->nseats];
        CV_TRY(set_environment(worker, worker->nseats, err));
        cv_worker_seat_init(worker, worker->nseats);
    }
    cv_worker_watch_room(worker);
    worker->link.silence_s = job->silence_s;
    return CLEAVE_OK;
}

static void drop_tasks(struct cv_worker *worker, struct cv_tasks *tasks)
{
    while (tasks->first != NULL) {
        struct cv_task *task = tasks->first;

        cv_tasks_remove(tasks, task);
        task->running = false;
        (void)cv_worker_item_end(worker, task, NULL); /* nothing goes back any more */
        cv_task_free(task);
    }
}

void cv_worker_release(struct cv_worker *worker)
{
    for (uint32_t i = 0; i < worker->nseats; i++) {
        cv_slot_done(&worker->seats[i].slot);
        cv_told_free(worker->seats[i].told);
        drop_tasks(worker, &worker->seats[i].tasks);
    }
    drop_tasks(worker, &worker->outgoing);
    cv_worker_clean(worker);
    for (uint32_t i = 0; i < worker->ncommands; i++)
        cv_command_done(&worker->commands[i]);
    for (uint64_t i = 0; worker->files != NULL && i < worker->job.nfiles; i++)
        cv_close(&worker->files[i]);
    free(worker->files);
    free(worker->commands);
    free(worker->seats);
    free(worker->bytes);
    cv_content_hasher_free(worker->hasher);
    cv_ordered_output_free(worker->outputs);
    cv_pack_done(&worker->job_bytes);
    cv_arena_done(&worker->arena);
}
