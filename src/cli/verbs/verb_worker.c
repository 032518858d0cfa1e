/* verb_worker.c -- cleave worker. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <cleave/execute.h>
#include "base/dev_null.h"
#include "cli/common/output.h"
#include "cli/common/verb.h"
#include "cli/run/lead_command.h"
#include "cli/run/run_values.h"
#include "run/common/content_hash.h"
#include "run/wire/reverse_connect.h"
#include "run/worker/worker_serve.h"

struct values {
    const char *hash;
    uint64_t gpus;
    const char *pin;
    int through, lead;
};

/* clang-format off */
static const struct cv_option options[] = {
    { .name = "--hash", .kind = CV_OPTION_TEXT, .argument = "HASH",
      .offset = offsetof(struct values, hash),
      .help = "Serve only if this program has this hash (xxh128sum): whoever copied it "
              "here wants to know that it arrived whole." },
    { .name = NULL },
};

static const struct cv_option slot_options[] = {
    { .name = "--gpus", .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = offsetof(struct values, gpus), .min = 1, .max = 1024,
      .help = "Let the commands of each slot see one of so many GPUs, in turn "
              "(CUDA_VISIBLE_DEVICES): gpus: of the platform file." },
    { .name = "--pin", .kind = CV_OPTION_TEXT, .argument = "HOW",
      .offset = offsetof(struct values, pin),
      .help = "cores or nodes: keep the commands of each slot there, as --pin of 'cleave "
              "run' says." },
    { .name = NULL },
};

static const struct cv_option way_options[] = {
    { .name = "--through", .value = 1, .offset = offsetof(struct values, through),
      .help = "Stand for a worker elsewhere, which COMMAND starts. As of 'srun -u -N 1 cleave "
              "worker', it calls back over TCP, with a key that this process has put into its "
              "environment, and what is said goes over that connection. If it cannot call, "
              "standard input and output of COMMAND are used." },
    { .name = "--lead", .value = 1, .offset = offsetof(struct values, lead),
      .help = "Lead others: share each piece over those behind this worker (via: of the "
              "platform file), by 'cleave run --framed' with the words that follow, which it "
              "ends with the command of the job." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Checks", options },
    { "Slots", slot_options },
    { "Ways", way_options },
    { NULL, NULL },
};

/* What the other side takes for "there is no cleave that could be used". */
_Static_assert((int)CV_EXIT_LACKS == (int)CLEAVE_HOST_LACKS, "one status, one meaning");

static int check_hash(const char *expected)
{
    struct cv_content_hasher *hasher = NULL;
    struct cv_content_hash hash;
    struct cleave_error err;
    char text[CV_CONTENT_HASH_TEXT];
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    bool good =
        size >= 0 && cv_content_hasher_new(&hasher, &err) == CLEAVE_OK &&
        cv_content_hasher_add(hasher, "cleave", fd, 0, (uint64_t)size, &err) == CLEAVE_OK;

    if (good) {
        hash = cv_content_hasher_finish(hasher);
        cv_content_hash_text(hash, text);
    }
    cv_content_hasher_free(hasher);
    if (fd >= 0)
        close(fd);
    if (!good)
        return cv_print_error(CV_EXIT_FAILED, "--hash: cannot read this program");
    if (strcmp(text, expected) != 0)
        return cv_print_error(
            CV_EXIT_LACKS,
            "--hash: expected this program to have %s, it has %s: it was "
            "damaged on its way",
            expected, text);
    return CV_EXIT_DONE;
}

/* The link gets descriptors of its own, so that nothing else is ever written into it. */
static bool take_link(struct cv_worker_options *serve)
{
    const int nothing = cv_dev_null_open(O_RDWR);

    serve->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    serve->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return nothing >= 0 && serve->in >= 0 && serve->out >= 0 &&
           dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
           (nothing <= STDERR_FILENO || close(nothing) == 0);
}

/* Take the connection to a master that wants to be called; false: standard input and output
 * are to be used. */
static bool take_call(struct cv_worker_options *serve)
{
    const int nothing = cv_dev_null_open(O_RDWR);
    struct cleave_error err;

    if (cv_call_back(&serve->in, &err) != CLEAVE_OK)
        cv_print_error(CV_EXIT_FAILED,
                       "worker: %s; bytes go through srun, which is slower", err.text);
    if (serve->in >= 0 && nothing >= 0) {
        serve->out = serve->in;
        (void)dup2(nothing, STDIN_FILENO);
        (void)dup2(nothing, STDOUT_FILENO);
    }
    if (nothing > STDERR_FILENO)
        close(nothing);
    return serve->in >= 0;
}

/* Behind the words of the command there is a NULL, as --through was one of all words. */
static int stand_for(const struct cv_call *call)
{
    struct cv_worker_options link;
    struct cleave_error err;
    int status = CV_EXIT_FAILED;

    if (call->noperands == 0)
        return cv_print_error(CV_EXIT_USAGE,
                              "--through: expected a command that starts a "
                              "worker, as 'srun -u -N 1 cleave worker'");
    if (!take_link(&link))
        return cv_print_error(CV_EXIT_FAILED, "cannot set up standard input and output");
    if (cv_call_relay(call->operands, link.in, link.out, &status, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_FAILED, "worker: %s", err.text);
    return status;
}

/* Whether standard output is what `srun --unbuffered` gives its tasks: a terminal that nobody
 * sits at, and that is to pass on bytes as they are. */
static bool is_of_srun(void)
{
    struct termios modes;

    if (getenv("SLURM_STEP_ID") == NULL || isatty(STDIN_FILENO) ||
        tcgetattr(STDOUT_FILENO, &modes) != 0)
        return false;
    cfmakeraw(&modes);
    return tcsetattr(STDOUT_FILENO, TCSANOW, &modes) == 0;
}

static int run(const struct cv_call *call)
{
    const struct values *values = call->values;
    struct cv_worker_options serve = {
        .in = -1, .out = -1, .guard = true, .gpus = (uint32_t)values->gpus
    };
    struct cleave_error err;
    int status;
    bool called;

    if (values->through)
        return stand_for(call);
    if (values->lead)
        cv_lead_by(&serve, call->operands);
    else if (call->noperands > 0)
        return cv_print_error(CV_EXIT_USAGE, "expected no operand, got '%s'",
                              call->operands[0]);
    status = values->hash != NULL ? check_hash(values->hash) : CV_EXIT_DONE;
    if (status == CV_EXIT_DONE)
        status = cv_pin_read(values->pin, &serve.pin);
    if (status != CV_EXIT_DONE)
        return status;
    called = take_call(&serve);
    if (!called && (isatty(STDIN_FILENO) || (isatty(STDOUT_FILENO) && !is_of_srun())))
        return cv_print_error(
            CV_EXIT_USAGE, "a worker is started by 'cleave run --hosts', and speaks to "
                           "that: standard input and output must not be a terminal");
    if (!called && !take_link(&serve))
        return cv_print_error(CV_EXIT_FAILED, "cannot set up standard input and output");
    if (cv_worker_serve(&serve, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    return cv_print_error(err.status == CLEAVE_EINPUT || err.status == CLEAVE_EREFUSED
                              ? CV_EXIT_USAGE
                              : CV_EXIT_FAILED,
                          "worker: %s", err.text);
}

const struct cv_verb cv_verb_worker = {
    .name = "worker",
    .summary = "the other end of 'cleave run --hosts', started by it",
    .description =
        "Works for a 'cleave run' on another machine: takes a job and pieces of an "
        "input from standard input, runs the command on them, and sends what it writes "
        "to standard output, in frames. It is started by 'cleave run --hosts' through "
        "ssh or whatever reaches the machine, and ends with its connection.",
    .operands = "[--through COMMAND... | --lead -- OPTION...]",
    .max_operands = 1000,
    .command = true,
    .groups = groups,
    .examples = "cleave worker </dev/null",
    .values_size = sizeof(struct values),
    .run = run,
};
