/* run_item_sizes.c -- what items take, so that long ones are begun first.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/common/output.h"
#include "cli/run/run_items.h"
#include "io/sizes_file.h"
#include "policy/compound/registry.h"

/* Of more items than this nobody looks at the files: so many even out by themselves. To look at
 * one takes a microsecond, and to begin it out of order some 30 us and 100 bytes, in the policy's
 * lists and as a range of its own in the books. */
enum { MANY = 300000 };

/* The sizes that are looked for. */
struct sizes {
    const struct cv_item_commands *commands;
    double *items; /* in the arena */
    uint64_t count;
};

static int fail_item(const char *option, uint64_t item, const char *expected,
                     const char *got)
{
    return cv_refuse("%s: item %llu: %s, got '%s'", option, (unsigned long long)item + 1,
                     expected, CV_ECHO(got));
}

static int read_size(const char *option, uint64_t item, const char *text, double *out)
{
    const char *expected = cv_quantity_parse(text, CV_UNITS, out);

    if (expected != NULL)
        return fail_item(option, item, expected, text);
    return *out >= 0 ? CV_EXIT_DONE
                     : fail_item(option, item, "expected a size of 0 or more", text);
}

/* --- lengths of files --------------------------------------------------------------------- */

/* All bytes of the regular files among the arguments; below 0: there is none. */
static double bytes_of(const struct cv_item_arguments *arguments)
{
    double bytes = -1;
    struct stat now;

    for (size_t i = 0; i < arguments->count; i++)
        if (stat(arguments->items[i], &now) == 0 && S_ISREG(now.st_mode))
            bytes = fmax(bytes, 0) + (double)now.st_size;
    return bytes;
}

/* *out_all is false if some command is about no file. */
static int measure_files(struct sizes *sizes, bool *out_all)
{
    struct cv_item_arguments arguments = { .items = NULL };
    struct cleave_error err = { .status = CLEAVE_OK };

    *out_all = true;
    for (uint64_t i = 0; i < sizes->count && *out_all && err.status == CLEAVE_OK; i++) {
        if (cv_item_arguments_get(sizes->commands, i, &arguments, &err) != CLEAVE_OK)
            break;
        sizes->items[i] = bytes_of(&arguments);
        *out_all = sizes->items[i] >= 0;
    }
    cv_item_arguments_done(&arguments);
    return err.status == CLEAVE_OK ? CV_EXIT_DONE : cv_print_status(&err);
}

/* --- --weight ----------------------------------------------------------------------------- */

static int read_column(struct sizes *sizes, uint64_t column)
{
    struct cv_item_arguments arguments = { .items = NULL };
    struct cleave_error err;
    int status = CV_EXIT_DONE;

    for (uint64_t i = 0; i < sizes->count && status == CV_EXIT_DONE; i++) {
        if (cv_item_arguments_get(sizes->commands, i, &arguments, &err) != CLEAVE_OK)
            status = cv_print_status(&err);
        else if (column > arguments.count)
            status = cv_refuse(
                "--weight: item %llu has no column %llu; --colsep says where columns end",
                (unsigned long long)i + 1, (unsigned long long)column);
        else
            status =
                read_size("--weight", i, arguments.items[column - 1], &sizes->items[i]);
    }
    cv_item_arguments_done(&arguments);
    return status;
}

/* The items, a line each with tabs between columns, in a file that has no name. */
static FILE *write_items(const struct sizes *sizes)
{
    struct cv_item_arguments arguments = { .items = NULL };
    FILE *file = tmpfile();

    for (uint64_t i = 0; file != NULL && i < sizes->count; i++) {
        if (cv_item_arguments_get(sizes->commands, i, &arguments, NULL) != CLEAVE_OK)
            break;
        for (size_t k = 0; k < arguments.count; k++)
            fprintf(file, "%s%s", k > 0 ? "\t" : "", arguments.items[k]);
        fputc('\n', file);
    }
    cv_item_arguments_done(&arguments);
    if (file != NULL && (fflush(file) != 0 || lseek(fileno(file), 0, SEEK_SET) != 0)) {
        fclose(file);
        return NULL;
    }
    return file;
}

/* What the command writes, a number for each item. */
static int read_answers(struct sizes *sizes, const char *command, FILE *answers)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    uint64_t count = 0;
    int status = CV_EXIT_DONE;

    while (status == CV_EXIT_DONE && count < sizes->count &&
           (length = getline(&line, &room, answers)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        status =
            read_size("--weight", count, line + strspn(line, " "), &sizes->items[count]);
        count++;
    }
    if (status == CV_EXIT_DONE && (count < sizes->count || getc(answers) != EOF))
        status =
            cv_refuse("--weight: expected a number for each of %llu %s from '%s', got %s",
                      (unsigned long long)sizes->count,
                      sizes->count == 1 ? "item" : "items", command,
                      count < sizes->count ? "fewer" : "more");
    while (getc(answers) != EOF) /* so that it can end */
        continue;
    free(line);
    return status;
}

/* Start a shell with the command, which reads `input`. Returns what it writes; NULL: errno
 * says why not. */
static FILE *start(const char *command, int input, pid_t *out)
{
    char *const words[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char *)command, NULL };
    posix_spawn_file_actions_t actions;
    FILE *answers = NULL;
    int ends[2], why;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    why = posix_spawn_file_actions_init(&actions);
    if (why == 0) {
        why = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        if (why == 0)
            why = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (why == 0)
            why = posix_spawn(out, "/bin/sh", &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (why == 0)
        answers = fdopen(ends[0], "r");
    if (answers == NULL)
        close(ends[0]);
    errno = why != 0 ? why : errno;
    return answers;
}

/* The command reads the items on its standard input. */
static int ask_command(struct sizes *sizes, const char *command)
{
    FILE *items = write_items(sizes), *answers = NULL;
    char shown[CV_ECHO_ROOM];
    pid_t child = 0;
    int status, ended = 0;

    if (items != NULL) {
        answers = start(command, fileno(items), &child);
        fclose(items);
    }
    if (answers == NULL)
        return cv_print_error(CV_EXIT_FAILED, "--weight: cannot run '%s': %s",
                              cv_echo(command, shown), strerror(errno));
    status = read_answers(sizes, cv_echo(command, shown), answers);
    fclose(answers);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        continue;
    if (status == CV_EXIT_DONE && ended != 0)
        status = cv_refuse("--weight: '%s' failed", shown);
    return status;
}

static int read_weight(struct sizes *sizes, const char *weight)
{
    const size_t digits = strspn(weight, "0123456789");

    if (digits > 0 && weight[digits] == '\0') {
        const uint64_t column = strtoull(weight, NULL, 10);

        return column > 0 ? read_column(sizes, column)
                          : cv_refuse("--weight: expected a column from 1 on, got 0");
    }
    return ask_command(sizes, weight);
}

/* --- --costs ------------------------------------------------------------------------------ */

struct cost {
    const char *command;
    double seconds;
};

static int by_command(const void *left, const void *right)
{
    return strcmp(((const struct cost *)left)->command,
                  ((const struct cost *)right)->command);
}

/* What is not in the log takes as long as others do on average. */
static int match(struct sizes *sizes, const struct cost *costs, uint64_t ncosts,
                 const char *path)
{
    double sum = 0;
    uint64_t known = 0;

    for (uint64_t i = 0; i < sizes->count; i++) {
        struct cv_text line = { NULL, 0, 0, false };
        const struct cost *found = NULL;
        struct cleave_error err;

        if (cv_item_commands_line(sizes->commands, i, 1, &line, &err) != CLEAVE_OK) {
            cv_text_done(&line);
            return cv_print_status(&err);
        }
        if (line.bytes != NULL)
            found = bsearch(&(struct cost){ .command = line.bytes }, costs,
                            (size_t)ncosts, sizeof *costs, by_command);
        cv_text_done(&line);
        sizes->items[i] = found != NULL ? found->seconds : -1;
        sum += found != NULL ? found->seconds : 0;
        known += found != NULL;
    }
    if (known == 0)
        return cv_refuse("--costs: '%s' has none of these commands", CV_ECHO(path));
    for (uint64_t i = 0; i < sizes->count; i++)
        if (sizes->items[i] < 0)
            sizes->items[i] = sum / (double)known;
    return CV_EXIT_DONE;
}

static int read_costs(struct sizes *sizes, const char *path, struct cv_arena *arena)
{
    struct cv_sizes log = { .sizes = NULL };
    struct cleave_error err;
    struct cost *costs;

    if (cv_sizes_read_log(path, NULL, arena, &log, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    costs = cv_array(arena, (size_t)log.count, sizeof *costs);
    if (costs == NULL)
        return cv_no_memory("the job log");
    for (uint64_t i = 0; i < log.count; i++)
        costs[i] = (struct cost){ log.names[i], log.sizes[i] };
    qsort(costs, (size_t)log.count, sizeof *costs, by_command);
    return match(sizes, costs, log.count, path);
}

/* --- all of it ---------------------------------------------------------------------------- */

/* Is it for items, and does it look at sizes? */
static int check_policy(const char *name, bool *out_sizes)
{
    const struct cleave_policy *policy = cv_policy_of_items();
    struct cleave_error err;

    if (name != NULL &&
        cleave_policy_find(CLEAVE_TASK_ITEMS, name, &policy, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    *out_sizes = policy == cv_policy_of_items();
    return CV_EXIT_DONE;
}

static bool are_alike(const struct sizes *sizes)
{
    for (uint64_t i = 1; i < sizes->count; i++)
        if (sizes->items[i] != sizes->items[0])
            return false;
    return true;
}

/* Whether files are worth a look where nobody asks for it. */
static bool is_worth_it(const struct cv_run_options *values, uint64_t count,
                        uint32_t workers)
{
    return values->policy != NULL ||
           (!values->shuffle && workers > 1 && count > 1 && count <= MANY);
}

int cv_run_item_sizes(const struct cv_call *call, const struct cv_item_commands *commands,
                      uint32_t workers, struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    struct sizes sizes = { .commands = commands, .count = commands->count };
    bool looks = true, all = true;
    int status = CV_EXIT_DONE;

    /* A policy for loads shares several out, and those that come, in the order of the list. */
    if (out->items.max > 1 || out->items.more != NULL)
        return CV_EXIT_DONE;
    status = check_policy(values->policy, &looks);

    if (status != CV_EXIT_DONE)
        return status;
    if (values->weight != NULL && values->costs != NULL)
        return cv_refuse("expected --weight or --costs, got both");
    out->policy.name = NULL;
    if (!looks || (values->weight == NULL && values->costs == NULL &&
                   !is_worth_it(values, sizes.count, workers)))
        return CV_EXIT_DONE;
    sizes.items = cv_array(call->arena, (size_t)sizes.count, sizeof *sizes.items);
    if (sizes.items == NULL)
        return cv_no_memory("the sizes of items");
    if (values->weight != NULL)
        status = read_weight(&sizes, values->weight);
    else if (values->costs != NULL)
        status = read_costs(&sizes, values->costs, call->arena);
    else
        status = measure_files(&sizes, &all);
    if (status == CV_EXIT_DONE && !all && values->policy != NULL)
        return cv_refuse("--policy %s: items are not all files, so nobody knows what "
                         "they take: say --weight or --costs",
                         values->policy);
    if (status != CV_EXIT_DONE || !all || sizes.count == 0 || are_alike(&sizes))
        return status;
    out->items.sizes = sizes.items;
    out->policy.name = cv_policy_of_items()->name;
    out->policy.block = 0;
    return CV_EXIT_DONE;
}
