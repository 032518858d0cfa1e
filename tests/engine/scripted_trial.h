/* scripted_trial.h -- a run in a scripted world, and conditions on it.
 * SPDX-License-Identifier: MIT
 *
 * Driver, policies, master and hosts are the real ones (scripted_world.h). For every
 * script, a run ends, every byte is done, failed or left, and the output is exactly the
 * output of done bytes. To be included once, after cmocka.h. */
#ifndef SCRIPTED_TRIAL_H
#define SCRIPTED_TRIAL_H
#include <stdbool.h>
#include <sys/mman.h>

#include <cleave/execute.h>
#include <cleave/policy.h>
#include <cleave/trace.h>

#include "base/text.h"
#include "run_check.h"
#include "scripted_world.h"

static char input[] = "/tmp/cleave-scripted-XXXXXX";

/* A run and its result. */
struct trial {
    uint32_t number;
    uint32_t nhosts, slots[WORLD_HOSTS];
    enum cleave_port port;
    const char *policy;
    const struct cleave_policy *own; /* instead of that                                */
    double block;
    enum cleave_backups backups;
    struct cleave_failure_options failures;
    bool
        persistent; /* the first host never fails: so all must be done                    */
    bool honest;    /* no machine sends untrue frames */
    bool lines; /* lines of the chunk in front are written as they come               */
    bool early; /* default of lines: a repeated chunk begins with the written lines */
    bool asks;  /* on SIGHUP the hosts are read again: the hosts of these bits */
    uint32_t members[WORLD_HANGUPS], request;
    double notice_s; /* notice of leaving hosts */
    struct cleave_host hosts[WORLD_HOSTS], again[WORLD_HOSTS];
    char *bytes;
    size_t length;
    char said[4000];  /* notes                                                         */
    uint64_t dropped; /* attempts */
    uint32_t last_stops; /* answering after this many chunks; 0: the last host does not */
    uint64_t ungiven; /* most bytes of a command that failed that it had not been given */
};

static void note(void *context, const char *text)
{
    struct trial *trial = context;
    const size_t used = strlen(trial->said);

    snprintf(trial->said + used, sizeof trial->said - used, "  %.2f s: %s\n", world.now_s,
             text);
}

static void attempted(void *context, const struct cleave_attempt *attempt)
{
    struct trial *trial = context;
    const uint64_t bytes = attempt->end - attempt->begin;
    const uint64_t given = machines[attempt->worker[1] - '0'].failed_given;

    trial->dropped += attempt->dropped;
    if (trial->last_stops > 0 && attempt->worker[1] == (char)('0' + trial->nhosts - 1) &&
        --trial->last_stops == 0)
        machines[trial->nhosts - 1].script.mute = true;
    if (attempt->exit_code == 1 && bytes > given + trial->ungiven)
        trial->ungiven = bytes - given;
}

static void make_input(struct trial *trial, size_t lines, size_t poison)
{
    size_t room = lines * 24 + 64;
    FILE *file = fopen(input, "w");

    trial->bytes = malloc(room);
    assert_non_null(trial->bytes);
    assert_non_null(file);
    trial->length = 0;
    for (size_t i = 0; i < lines; i++)
        trial->length +=
            (size_t)snprintf(trial->bytes + trial->length, room - trial->length,
                             "%zu%s of the lines\n", i, i == poison ? " POISON" : "");
    assert_int_equal(fwrite(trial->bytes, 1, trial->length, file), trial->length);
    fclose(file);
}

/* --- the oracle --------------------------------------------------------------------------- */

#define complain(trial, ...)                                                           \
    do {                                                                               \
        fprintf(stderr, "script %u: %s, %u hosts, port %d, block %g:\n%s",             \
                (trial)->number, (trial)->policy, (trial)->nhosts, (int)(trial)->port, \
                (trial)->block, (trial)->said);                                        \
        fail_msg(__VA_ARGS__);                                                         \
    } while (0)

/* The output is the output of done bytes, up to the first left byte. */
static void check_output(const struct trial *trial,
                         const struct cleave_execution_result *result, int sink)
{
    const size_t length = (size_t)lseek(sink, 0, SEEK_END);
    const uint64_t stops =
        result->nleft_ranges > 0 ? result->left_ranges[0].begin : (uint64_t)trial->length;
    char *out = malloc(length + 1), *pending = malloc(trial->length + 1);
    size_t nwant = 0;
    uint64_t at = 0;

    assert_non_null(out);
    assert_non_null(pending);
    assert_int_equal(pread(sink, out, length, 0), length);
    for (size_t i = 0; i <= result->nfailed_ranges && at < stops; i++) {
        const bool last = i == result->nfailed_ranges;
        const uint64_t begin = last ? stops : result->failed_ranges[i].begin;
        const uint64_t end = begin < stops ? begin : stops;

        memcpy(pending + nwant, trial->bytes + at, (size_t)(end - at));
        nwant += (size_t)(end - at);
        at = last ? stops : result->failed_ranges[i].end;
    }
    if (result->nleft_ranges == 0 ? length != nwant : length > nwant)
        complain(trial, "%zu bytes were put out, expected %zu", length, nwant);
    if (memcmp(out, pending, length) != 0)
        complain(trial, "what was put out is not what was done");
    free(out);
    free(pending);
}

/* A failed chunk may have some of its first lines, complete; so may the first chunk, if
 * the run has ended early. All other output is unchanged. */
static void check_lines(const struct trial *trial, enum cleave_status status,
                        const struct cleave_execution_result *result,
                        const struct cleave_error *err, int sink)
{
    const size_t length = (size_t)lseek(sink, 0, SEEK_END);
    char *out = malloc(length + 1);
    const char *in = trial->bytes;
    size_t at = 0, from = 0;

    assert_non_null(out);
    assert_int_equal(pread(sink, out, length, 0), length);
    if (result == NULL && trial->persistent)
        complain(trial, "%s", err->text);
    if (result != NULL && trial->persistent &&
        (status != CLEAVE_OK || result->left_bytes > 0))
        complain(trial, "a host was there all the time, but %s", err->text);
    for (size_t i = 0; result != NULL && i <= result->nfailed_ranges; i++) {
        const bool last = i == result->nfailed_ranges;
        const size_t begin = last ? trial->length : result->failed_ranges[i].begin;
        const size_t end = last ? begin : result->failed_ranges[i].end;

        while (from < begin && at < length && out[at] == in[from]) {
            at++;
            from++;
        }
        if (from < begin && result->nleft_ranges > 0 &&
            from >= result->left_ranges[0].begin)
            break;
        if (from < begin)
            complain(trial,
                     "byte %zu of the input is not in its place: '%.40s', not '%.40s'",
                     from, length > at ? out + at : "", in + from);
        /* A range may be several chunks; all lines differ. */
        while (from < end) {
            const char *stop = memchr(in + from, '\n', end - from);
            const size_t line = (size_t)(stop + 1 - in) - from;

            if (length - at >= line && memcmp(out + at, in + from, line) == 0)
                at += line;
            from += line;
        }
    }
    if (result != NULL && at < length && result->nleft_ranges == 0)
        complain(trial, "%zu bytes more were put out than there are", length - at);
    free(out);
}

static void check(const struct trial *trial, enum cleave_status status,
                  const struct cleave_execution_result *result,
                  const struct cleave_error *err, int sink)
{
    if (status != CLEAVE_OK && status != CLEAVE_ELOST && status != CLEAVE_EENGINE)
        complain(trial, "%s", err->text);
    if (result == NULL) { /* no host was connected in time */
        if (trial->persistent)
            complain(trial, "%s", err->text);
        return;
    }
    if (trial->persistent && status != CLEAVE_OK)
        complain(trial, "a host was there all the time, but %s", err->text);
    /* Losses on three hosts by chance look like a poison chunk. */
    if (trial->persistent && trial->honest && world_poison == NULL && trial->nhosts < 4 &&
        result->failed > 0)
        complain(trial, "%llu chunks failed", (unsigned long long)result->failed);
    if (status == CLEAVE_OK && result->left_bytes > 0)
        complain(trial, "%g bytes are left", result->left_bytes);
    if (result->input_bytes + result->left_bytes != (double)trial->length)
        complain(trial, "%g bytes were settled and %g are left of %zu",
                 result->input_bytes, result->left_bytes, trial->length);
    check_output(trial, result, sink);
}

/* The policy gives the same orders again, and so does the rule about backups. */
static void check_replay(const struct trial *trial, const struct cleave_trace *trace)
{
    const struct cleave_policy *policy;
    struct cleave_replayed replayed;
    struct cleave_error err;

    /* Policies of a test record their events. */
    if (cleave_trace_count(trace) == 0 || trial->own != NULL)
        return;
    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD,
                                        trial->block > 0 ? "self" : trial->policy,
                                        &policy, &err),
                     CLEAVE_OK);
    if (cleave_replay(trace, policy, &replayed, &err) != CLEAVE_OK)
        complain(trial, "replay: %s", err.text);
    if (!replayed.same)
        complain(trial, "replay: another order at entry %zu, %g s", replayed.entry,
                 replayed.time_s);
}

/* --- who comes and goes ------------------------------------------------------------------- */

static enum cleave_status more_hosts(void *context, struct cleave_more_hosts *out,
                                     struct cleave_error *err)
{
    struct trial *trial = context;
    const uint32_t members = trial->members[trial->request++];

    (void)err;
    *out = (struct cleave_more_hosts){ trial->again, 0 };
    for (uint32_t h = 0; h < WORLD_HOSTS; h++)
        if ((members >> h & 1) != 0)
            trial->again[out->nhosts++] = trial->hosts[h];
    return CLEAVE_OK;
}

/* --- a run -------------------------------------------------------------------------------- */

static void run(struct trial *trial, struct cleave_execution_result **out)
{
    static const char *const connect[] = { "connect", NULL };
    static const char *const command[] = { "command", NULL };
    static const char *const names[] = { "h0", "h1", "h2", "h3" };
    const char *const files[] = { input };
    const int sink = memfd_create("out", MFD_CLOEXEC);
    struct cleave_host *hosts = trial->hosts;
    struct cleave_execution_result *result = NULL;
    struct cleave_platform *platform = NULL;
    struct cleave_error err = { .status = CLEAVE_OK };
    struct cv_text yaml = { NULL, 0, 0, false };
    struct cleave_failure_options failures = trial->failures;
    struct cleave_trace *trace = NULL;
    uint32_t first = 0;
    enum cleave_status status;

    assert_true(sink >= 0);
    assert_int_equal(cleave_trace_new(&trace, &err), CLEAVE_OK);
    /* A machine that never reports the end of a chunk is detected by its time. */
    failures.timeout_s = trial->honest ? 0 : 100;
    world.said = trial->said;
    cv_text_add(&yaml, "port: %s\nworkers:\n", cleave_port_name(trial->port));
    for (uint32_t h = 0; h < WORLD_HOSTS; h++) {
        hosts[h] = (struct cleave_host){ .name = names[h],
                                         .connect = connect,
                                         .link = -1,
                                         .first = first,
                                         .slots = trial->slots[h] };
        if (h >= trial->nhosts)
            continue;
        cv_text_add(&yaml, "  - {name: %s, count: %u, speed: 1e4, bandwidth: 1e5}\n",
                    names[h], trial->slots[h]);
        first += trial->slots[h];
    }
    assert_int_equal(cleave_platform_parse("p", yaml.bytes, yaml.length, &platform, &err),
                     CLEAVE_OK);
    status = cleave_execute(
        &(struct cleave_execution){
            .command = command,
            .input = { .files = files, .count = 1 },
            .output = { .descriptor = sink,
                        .name = "out",
                        .lines = trial->lines,
                        .early = trial->early },
            .workers = { .platform = platform },
            .handle_signals = true,
            .hosts = { .list = hosts,
                       .count = trial->nhosts,
                       .timeout_s = 3,
                       .notice_s = trial->notice_s,
                       .more = trial->asks ? more_hosts : NULL },
            .policy = { .name =
                            trial->block > 0 || trial->own != NULL ? NULL : trial->policy,
                        .own = trial->own,
                        .block = trial->block,
                        .backups = trial->backups },
            .failures = failures,
            .listener = { .note = note,
                          .attempted = attempted,
                          .context = trial,
                          .trace = trace } },
        &result, &err);
    if (result != NULL)
        check_replay(trial, trace);
    if (getenv("CLEAVE_SCRIPT") != NULL)
        cleave_trace_save(trace, platform, trial->policy, (double)trial->length, stderr,
                          NULL);
    cleave_trace_free(trace);
    (trial->lines || trial->early ? check_lines : check)(trial, status, result, &err,
                                                         sink);
    if (out != NULL)
        *out = result;
    else
        cleave_execution_free(result);
    cleave_platform_free(platform);
    cv_text_done(&yaml);
    close(sink);
}

/* Hosts that never fail, with one slot each; the caller sets the script of the last
 * one. */
static struct trial calm(uint32_t number, uint32_t nhosts, enum cleave_port port,
                         const char *policy, size_t poison)
{
    struct trial trial = {
        .number = number, .nhosts = nhosts, .port = port, .policy = policy, .honest = true
    };

    world_reset(3, number);
    if (poison != SIZE_MAX)
        world_poison = "POISON";
    for (uint32_t h = 0; h < nhosts; h++) {
        trial.slots[h] = 1;
        machines[h].script = (struct script){
            .speed_Bps = 1e4, .latency_s = 0.01, .link_Bps = 2e4, .link_s = 0.001
        };
    }
    make_input(&trial, 1000, poison);
    return trial;
}

static const enum cleave_port every_port[] = { CLEAVE_PORT_MULTI, CLEAVE_PORT_ONE,
                                               CLEAVE_PORT_DUPLEX };
static const char *const some_policies[] = { "learn", "factoring", "guided", "as4dr",
                                             "umr-plus" };
enum { PORTS = 3, POLICIES = 5 };

static int set_up(void **state)
{
    (void)state;
    close(mkstemp(input));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(input);
}

#endif
