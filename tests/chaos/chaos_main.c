/* chaos_main.c -- many trials at once, and their results. SPDX-License-Identifier: MIT
 *
 *   chaos [OPTION]...
 *
 *   -n N                how many faults (200)
 *   -s SEED             which ones (1)
 *   -j N                so many at a time (2)
 *   --only SEED:NUMBER  this one, and keep its folder
 *   --fault NAME        this kind only
 *   --cleave PROGRAM    what is tried ($CLEAVE, or build/cleave)
 *   --tmp FOLDER        where the files are ($TMPDIR, or /tmp)
 *   --limit SECONDS     what takes longer hangs (30)
 *   --grace SECONDS     processes that are there so long after a run were left (8)
 *   -v                  say what is done
 */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "chaos/chaos.h"

struct setting setting = { .limit_s = 30, .grace_s = 8 };

struct result {
    enum verdict verdict;
    bool over, struck;
    uint32_t fault;
    char reason[WORD];
};

/* Seen by all processes. */
struct board {
    _Atomic uint64_t next;
    struct result results[];
};

struct request {
    uint64_t count, seed, first, workers;
    const char *fault;
    bool keep;
};

/* --- one trial ---------------------------------------------------------------------------- */

static void choose_fault(struct trial *trial, const char *only)
{
    uint64_t sum = 0, at;

    for (size_t i = 0; i < nfaults; i++) {
        sum += faults[i].weight;
        if (only != NULL && strcmp(only, faults[i].name) == 0)
            trial->fault = &faults[i];
    }
    at = chance_below(&trial->chance, sum);
    for (size_t i = 0; trial->fault == NULL; i++) {
        if (at < faults[i].weight)
            trial->fault = &faults[i];
        at -= faults[i].weight;
    }
}

/* Change some bytes of the journal, or cut it. */
static void damage(struct trial *trial)
{
    char path[2 * WORD];
    struct bytes journal = { 0 };
    const uint64_t hits = 1 + chance_below(&trial->chance, 5);

    snprintf(path, sizeof path, "%s/journal", trial->folder);
    if (!bytes_read(&journal, path) || journal.length == 0)
        return;
    for (uint64_t i = 0; i < hits; i++)
        journal.at[chance_below(&trial->chance, journal.length)] ^=
            (char)(1 + chance_below(&trial->chance, 255));
    if (trial->cut_journal)
        journal.length = chance_below(&trial->chance, journal.length);
    bytes_write(&journal, path);
    bytes_free(&journal);
}

enum verdict trial_run(struct trial *trial)
{
    const struct job *job = &trial->job;

    if (job->flavour != NULL &&
        !(strcmp(job->flavour, "openmpi") == 0 ? setting.openmpi : setting.mpich)) {
        wrong(trial, "no %s", job->flavour);
        return SKIPPED;
    }
    if (trial->disk_room > 0 && !setting.mounts) {
        wrong(trial, "may not mount a small disk");
        return SKIPPED;
    }
    job_make(trial);
    for (trial->round = 0; trial->round <= trial->more_rounds; trial->round++) {
        run_job(trial, true);
        if (!check_run(trial, true))
            return FAILED;
    }
    if (trial->resume && job->journal) {
        if (trial->damage_journal)
            damage(trial);
        run_job(trial, false);
        if (!check_run(trial, false))
            return FAILED;
    }
    return check_rest(trial) ? PASSED : FAILED;
}

static int remove_one(const char *path, const struct stat *facts, int type,
                      struct FTW *walk)
{
    (void)facts;
    (void)type;
    (void)walk;
    remove(path);
    return 0;
}

static void clean(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void clean_up(const struct trial *trial)
{
    char path[FOLDER + 8];

    clean(trial->folder);
    snprintf(path, sizeof path, "%s.err", trial->folder);
    unlink(path);
    snprintf(path, sizeof path, "%s.err.2", trial->folder);
    unlink(path);
}

static void forget(struct trial *trial)
{
    for (size_t f = 0; f < MOST_FILES; f++)
        bytes_free(&trial->job.input[f]);
    bytes_free(&trial->job.mates);
    bytes_free(&trial->job.expected);
}

static void do_trial(const struct request *request, uint64_t number,
                     struct result *result)
{
    static struct trial trial;

    trial = (struct trial){ .seed = request->seed, .number = number };
    trial.chance.state =
        request->seed * 0x9e3779b97f4a7c15u + number * 0xd1342543de82ef95u;
    snprintf(trial.folder, sizeof trial.folder, "%s/%" PRIu64, setting.top, number);
    snprintf(trial.once, sizeof trial.once, "%s/once", trial.folder);
    clean(trial.folder);
    if (mkdir(trial.folder, 0755) != 0)
        give_up("%s: %s", trial.folder, strerror(errno));
    choose_fault(&trial, request->fault);
    job_choose(&trial);
    trial.fault->prepare(&trial);
    fault_add_another(&trial);
    if (setting.verbose)
        printf("%" PRIu64 ":%" PRIu64 " %s\n", trial.seed, number, trial.fault->name);
    result->fault = (uint32_t)(trial.fault - faults);
    result->verdict = trial_run(&trial);
    if (trial.disk_room > 0)
        disk_end(&trial);
    result->struck = trial.struck || !trial.strikes;
    snprintf(result->reason, sizeof result->reason, "%s", trial.reason);
    result->over = true;
    forget(&trial);
    if (!request->keep && result->verdict != FAILED)
        clean_up(&trial);
}

/* --- many --------------------------------------------------------------------------------- */

static pid_t start_worker(const struct request *request, struct board *board)
{
    const pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setting.mounts = disk_allowed();
    for (uint64_t i; (i = board->next++) < request->count;)
        do_trial(request, request->first + i, &board->results[i]);
    fflush(stdout);
    _exit(0);
}

static void tell(const struct request *request, uint64_t i, const struct result *result)
{
    char text[WORD];

    snprintf(text, sizeof text, "%s", result->reason);
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < 32 || (unsigned char)*at > 126)
            *at = *at == '\n' && at[1] != '\0' ? '|' : ' ';
    printf("FAILED %" PRIu64 ":%" PRIu64 " %s: %s\n", request->seed, request->first + i,
           result->over ? faults[result->fault].name : "?",
           result->over ? text : "the harness ended");
    fflush(stdout);
}

static void watch(const struct request *request, struct board *board, uint64_t running)
{
    uint64_t *told = calloc(request->count, sizeof *told);
    double next_s = now_s() + 10;

    if (told == NULL)
        give_up("out of memory");
    while (running > 0) {
        uint64_t over = 0;

        while (running > 0 && waitpid(-1, NULL, WNOHANG) > 0)
            running--;
        for (uint64_t i = 0; i < request->count; i++) {
            const struct result *result = &board->results[i];

            over += result->over;
            if (result->over && result->verdict == FAILED && told[i]++ == 0)
                tell(request, i, result);
        }
        if (now_s() > next_s) {
            printf("%" PRIu64 " of %" PRIu64 "\n", over, request->count);
            fflush(stdout);
            next_s += 10;
        }
        sleep_s(0.02);
    }
    for (uint64_t i = 0; i < request->count; i++)
        if (!board->results[i].over)
            tell(request, i, &board->results[i]);
    free(told);
}

static bool sum_up(const struct request *request, const struct board *board,
                   double took_s)
{
    uint64_t all[3] = { 0 }, missed = 0;

    printf("%-18s %7s %7s %7s %7s\n", "fault", "passed", "failed", "skipped", "missed");
    for (size_t f = 0; f < nfaults; f++) {
        uint64_t of[3] = { 0 }, late = 0;

        for (uint64_t i = 0; i < request->count; i++) {
            const struct result *result = &board->results[i];

            if (result->fault != f)
                continue;
            of[result->over ? result->verdict : FAILED]++;
            late += result->over && result->verdict != SKIPPED && !result->struck;
        }
        if (of[0] + of[1] + of[2] > 0)
            printf("%-18s %7" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n",
                   faults[f].name, of[PASSED], of[FAILED], of[SKIPPED], late);
        for (int v = 0; v < 3; v++)
            all[v] += of[v];
        missed += late;
    }
    printf("%-18s %7" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n", "all",
           all[PASSED], all[FAILED], all[SKIPPED], missed);
    printf("chaos: %" PRIu64 " faults, %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64
           " skipped in %.1f s (seed %" PRIu64 ")\n",
           request->count, all[PASSED], all[FAILED], all[SKIPPED], took_s, request->seed);
    if (all[FAILED] > 0)
        printf(
            "folders of the failed ones are in %s; chaos --only SEED:NUMBER -v tries one "
            "again\n",
            setting.top);
    return all[FAILED] == 0;
}

/* --- options ------------------------------------------------------------------------------ */

/* Whether there is such a program in PATH. */
static bool in_path(const char *name)
{
    const char *at = getenv("PATH");
    char path[2 * WORD];

    while (at != NULL && *at != '\0') {
        const size_t length = strcspn(at, ":");

        snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        if (access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static void find_programs(const char *cleave)
{
    static char self[PATH_MAX], program[PATH_MAX];
    char path[2 * PATH_MAX];
    int folder;

    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 ||
        realpath(cleave, program) == NULL || access(program, X_OK) != 0)
        give_up("%s is no program", cleave);
    setting.self = self;
    snprintf(setting.relay, sizeof setting.relay, "%.*s/relay",
             (int)(strrchr(self, '/') - self), self);
    setting.cleave = program;
    folder = (int)(strrchr(program, '/') - program);
    snprintf(path, sizeof path, "%.*s/lib/openmpi/libcleave-mpi.so", folder, program);
    setting.openmpi = access(path, R_OK) == 0 && in_path("mpirun.openmpi");
    snprintf(path, sizeof path, "%.*s/lib/mpich/libcleave-mpi.so", folder, program);
    setting.mpich = access(path, R_OK) == 0 && in_path("mpirun.mpich");
}

/* "SEED:NUMBER", for one trial. */
static bool read_name(const char *text, struct request *request)
{
    char *rest;

    request->seed = strtoull(text, &rest, 10);
    if (*rest != ':')
        return false;
    request->first = strtoull(rest + 1, &rest, 10);
    request->count = 1;
    request->keep = true;
    return *rest == '\0';
}

static void read_options(int argc, char **argv, struct request *request)
{
    static const struct option known[] = {
        { "only", 1, NULL, 'o' }, { "fault", 1, NULL, 'f' }, { "cleave", 1, NULL, 'c' },
        { "tmp", 1, NULL, 't' },  { "limit", 1, NULL, 'l' }, { "grace", 1, NULL, 'g' },
        { NULL, 0, NULL, 0 }
    };
    const char *cleave = getenv("CLEAVE") != NULL ? getenv("CLEAVE") : "build/cleave";
    const char *tmp = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";

    for (int c; (c = getopt_long(argc, argv, "n:s:j:v", known, NULL)) != -1;) {
        if (c == 'n')
            request->count = strtoull(optarg, NULL, 10);
        else if (c == 's')
            request->seed = strtoull(optarg, NULL, 10);
        else if (c == 'j')
            request->workers = strtoull(optarg, NULL, 10);
        else if (c == 'v')
            setting.verbose = true;
        else if (c == 'f')
            request->fault = optarg;
        else if (c == 'c')
            cleave = optarg;
        else if (c == 't')
            tmp = optarg;
        else if (c == 'l')
            setting.limit_s = strtod(optarg, NULL);
        else if (c == 'g')
            setting.grace_s = strtod(optarg, NULL);
        else if (c == 'o' && read_name(optarg, request))
            continue;
        else
            give_up("see the head of tests/chaos/chaos_main.c for the options");
    }
    for (size_t i = 0; request->fault != NULL && i <= nfaults; i++)
        if (i == nfaults)
            give_up("no fault is called %s", request->fault);
        else if (strcmp(faults[i].name, request->fault) == 0)
            break;
    find_programs(cleave);
    snprintf(setting.top, sizeof setting.top, "%.300s/chaos.XXXXXX", tmp);
    if (mkdtemp(setting.top) == NULL)
        give_up("%s: %s", setting.top, strerror(errno));
}

int main(int argc, char **argv)
{
    struct request request = { .count = 200, .seed = 1, .workers = 2 };
    const double began_s = now_s();
    struct board *board;
    bool good;

    if (argc > 1 && strcmp(argv[1], "@work") == 0)
        return work_main(argv + 2);
    if (argc > 1 && strcmp(argv[1], "@relay") == 0)
        return relay_main(argv + 2);
    read_options(argc, argv, &request);
    board = mmap(NULL, sizeof *board + request.count * sizeof *board->results,
                 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        give_up("out of memory");
    fflush(stdout);
    for (uint64_t i = 0; i < request.workers; i++)
        if (start_worker(&request, board) < 0)
            give_up("no process: %s", strerror(errno));
    watch(&request, board, request.workers);
    good = sum_up(&request, board, now_s() - began_s);
    if (request.keep)
        printf("the folder is %s/%" PRIu64 "\n", setting.top, request.first);
    else if (good)
        clean(setting.top);
    return good ? 0 : 1;
}
