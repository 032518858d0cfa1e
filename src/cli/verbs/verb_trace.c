/* verb_trace.c -- cleave report and cleave replay. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cleave/trace.h>
#include "cli/common/verb.h"
#include "io/input.h"
#include "io/trace_export.h"
#include "io/trace_file.h"
#include "report/page/html_report.h"

struct report_options {
    const char *predicted, *output;
    int force;
};

#define CV_VALUES struct report_options

/* clang-format off */
static const struct cv_option options[] = {
    CV_OPTION(0, "--predicted", TEXT, "TRACE", predicted,
        "Compare with this trace: the plan or the simulation of the same job. Differences "
        "are listed per worker."),
    CV_OPTION('o', "--output", TEXT, "FILE", output,
        "Write the page to this file; - is standard output. Default: the name of the trace "
        "with .html in place of .jsonl, or after it, which is printed.", .file = CV_FILE_WRITTEN),
    CV_FLAG('f', "--force", 1, force,
        "Replace the file if it exists. Without it, only a page of cleave is replaced."),
};
/* clang-format on */

struct context {
    struct cv_trace_file file;
    struct cv_report_data data;
};

/* Refuse a file that is not a readable trace. */
static int check_path(const char *path)
{
    if (path == NULL)
        return cv_refuse("expected the file of a trace, as --trace writes it");
    if (cv_trace_format_of(path) != CV_TRACE_OWN)
        return cv_refuse("%s: a trace for other viewers cannot be read back; give "
                         "--trace a name with another ending",
                         CV_ECHO(path));
    return CV_EXIT_DONE;
}

static int read_story(const char *path, struct context *out)
{
    CV_DO(check_path(path));
    CV_CALL(
        cv_trace_file_load(path,
                           &(struct cv_trace_wanted){ .any = true, .events_only = true },
                           &out->file, &err));
    CV_CALL(cv_report_data_make(&out->file, NULL, 0, &out->data, &err));
    CV_CALL(cv_report_data_reduce(&out->data, &err));
    return CV_EXIT_DONE;
}

static bool is_own_page(const char *path)
{
    char head[512];
    struct stat facts;
    FILE *file =
        stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? fopen(path, "re") : NULL;
    const size_t length = file != NULL ? fread(head, 1, sizeof head - 1, file) : 0;

    if (file != NULL)
        fclose(file);
    head[length] = '\0';
    return strstr(head, "<meta name=\"generator\" content=\"cleave ") != NULL;
}

static int find_page(const struct cv_call *call, const char **out)
{
    const struct report_options *values = call->values;
    const char *trace = call->operands[0];
    size_t length = strlen(trace);

    *out = values->output;
    if (values->output != NULL)
        return CV_EXIT_DONE;
    if (strcmp(trace, "-") == 0)
        return cv_refuse("--output FILE is required for a trace on standard input");
    if (length > 6 && strcmp(trace + length - 6, ".jsonl") == 0)
        length -= 6;
    *out = cv_arena_print(call->arena, "%.*s.html", (int)length, trace);
    return *out != NULL ? CV_EXIT_DONE : cv_no_memory("the name of the page");
}

static int write_page(const struct cv_report *report, const struct report_options *values,
                      const char *path)
{
    struct cv_output_file out;

    CV_DO(cv_output_open(&out, "--output", path,
                         values->force || is_own_page(path) ? 0 : CV_NEW_FILE_ONLY));
    cv_report_write(report, out.file);
    CV_DO(cv_output_close(&out, false));
    if (values->output == NULL)
        printf("%s\n", path);
    return CV_EXIT_DONE;
}

static int run(const struct cv_call *call)
{
    const struct report_options *values = call->values;
    struct context measured = { .data = { .file = NULL } };
    struct context predicted = { .data = { .file = NULL } };
    struct cv_report report = { .measured = &measured.data };
    struct cleave_error err;
    const char *page;
    int status;

    CV_DO(check_path(call->noperands > 0 ? call->operands[0] : NULL));
    CV_DO(find_page(call, &page));
    status = read_story(call->operands[0], &measured);
    report.measured_name = cv_input_name(call->operands[0]);
    if (status == CV_EXIT_DONE && values->predicted != NULL) {
        status = read_story(values->predicted, &predicted);
        report.predicted = &predicted.data;
        report.predicted_name = cv_input_name(values->predicted);
    }
    if (status == CV_EXIT_DONE && values->predicted != NULL &&
        cv_report_data_match(&measured.data, &predicted.data, report.predicted_name,
                             &err) != CLEAVE_OK)
        status = cv_print_status(&err);
    if (status == CV_EXIT_DONE)
        status = write_page(&report, values, page);
    cv_report_data_done(&measured.data);
    cv_report_data_done(&predicted.data);
    cv_trace_file_done(&measured.file);
    cv_trace_file_done(&predicted.file);
    return status;
}

const struct cv_verb cv_verb_report = {
    .name = "report",
    .summary = "a page that shows what happened in a trace",
    .is_first = true,
    .description =
        "Makes one page of a trace that plan, simulate or run wrote with --trace: a "
        "chart of every worker over time that can be zoomed, how busy every worker was, "
        "the bound, the workers left out with reasons, and the command that repeats it. "
        "With --predicted it shows the plan next to the run. The page needs no other "
        "file and no network, and can be printed.",
    .operands = "TRACE",
    .operand_files = true,
    .max_operands = 1,
    .groups = CV_GROUPS(CV_GROUP("Page", options)),
    .examples = "cleave plan load -p examples/unequal.yaml -l 2000 --trace plan.jsonl\n"
                "cleave report plan.jsonl\n"
                "cleave simulate load -p examples/unequal.yaml -l 2000 --error 0.2 "
                "--trace run.jsonl\n"
                "cleave report run.jsonl --predicted plan.jsonl -o run.html",
    .values_size = sizeof(struct report_options),
    .run = run,
};

struct replay_values {
    int json;
};

#undef CV_VALUES
#define CV_VALUES struct replay_values
/* clang-format off */
static const struct cv_option replay_options[] = {
    CV_FLAG(0, "--json", 1, json, "Write one JSON object."),
};
/* clang-format on */

static void add_worker(struct cv_text *out, const struct cv_trace_header *header,
                       uint32_t worker)
{
    if (header->task == CLEAVE_TASK_LOAD && worker < header->nworkers)
        cv_text_add(out, "%s", CV_ECHO(header->names[worker]));
    else
        cv_text_add(out, "node %u", worker);
}

static bool has_items(const struct cv_trace_file *file)
{
    const struct cleave_policy_input *told = cleave_trace_facts(file->trace)->told;

    return told != NULL && told->view.nitems > 0;
}

static void add_order(struct cv_text *out, const struct cv_trace_file *file, bool there,
                      const struct cleave_order *order)
{
    static const struct {
        const char *before, *after; /* a number */
    } words[] = {
        [CLEAVE_SEND] = { "send ", " units to " },
        [CLEAVE_RECALL] = { "recall ", " units from " },
        [CLEAVE_OPEN] = { "open a chunk with ", " units for " },
        [CLEAVE_EXTEND] = { "give ", " units more to " },
        [CLEAVE_CLOSE] = { "close the chunk of ", NULL },
        [CLEAVE_QUERY] = { "look at ", NULL },
        [CLEAVE_COPY] = { "copy the chunk of worker ", " to " },
        [CLEAVE_RETURN] = { "return the result of chunk ", " from " },
        [CLEAVE_COMBINE] = { "combine the partial of node ", " at " },
        [CLEAVE_WAKE_AT] = { "wake at ", " s for " },
    };
    const double number = order->kind == CLEAVE_RETURN ? (double)order->chunk
                          : order->kind == CLEAVE_COMBINE || order->kind == CLEAVE_COPY
                              ? order->peer
                          : order->kind == CLEAVE_WAKE_AT ? order->time_s
                                                          : order->units;

    if (!there) {
        cv_text_add(out, "no order");
        return;
    }
    cv_text_add(out, "%s", words[order->kind].before);
    if (order->kind == CLEAVE_SEND && has_items(file))
        cv_text_add(out, "item %llu of ", (unsigned long long)order->item);
    if (words[order->kind].after != NULL)
        cv_text_add(out, "%.17g%s", number, words[order->kind].after);
    add_worker(out, &file->header, order->worker);
}

/* Bytes of a run without an order: when hosts are lost, the run itself shares out the
 * rest of a plan (run/master/exec_engine.c). */
static double unrecorded(const struct cv_trace_file *file)
{
    const struct cleave_trace_facts *facts = cleave_trace_facts(file->trace);
    double left = file->header.load;

    if (file->header.task != CLEAVE_TASK_LOAD || facts->engine == NULL ||
        strcmp(facts->engine, "run") != 0)
        return 0;
    for (size_t i = 0; i < cleave_trace_count(file->trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(file->trace, i);

        if (!entry->is_order && entry->as.event.kind == CLEAVE_DONE)
            left -= entry->as.event.units;
    }
    return left >= 0.5 ? left : 0;
}

static int print_text(const struct cv_trace_file *file,
                      const struct cleave_replayed *found, double outside)
{
    struct cv_text out = { NULL, 0, 0, false };

    if (found->same) {
        cv_text_add(&out, "the same: %llu orders of policy %s\n",
                    (unsigned long long)found->orders, file->header.policy);
        if (outside > 0)
            cv_text_add(&out,
                        "not in the trace: %.0f bytes that were left over when hosts "
                        "were lost, and shared out by the run itself\n",
                        outside);
        return cv_print_take(&out);
    }
    cv_text_add(&out, "different: order %llu of policy %s, at %.6g s (line %zu)\n",
                (unsigned long long)found->orders + 1, file->header.policy, found->time_s,
                found->entry + 2);
    cv_text_add(&out, "  recorded: ");
    add_order(&out, file, found->has_recorded, &found->recorded);
    cv_text_add(&out, "\n  now:      ");
    add_order(&out, file, found->has_now, &found->now);
    cv_text_add(&out, "\n");
    return cv_print_take(&out);
}

static void put_order(struct cv_json *json, const char *key,
                      const struct cv_trace_file *file, bool there,
                      const struct cleave_order *order)
{
    const struct cv_trace_header *header = &file->header;

    cv_json_key(json, key);
    if (!there) {
        cv_json_text(json, NULL);
        return;
    }
    cv_json_on_line(json);
    cv_json_object(json);
    cv_field_text(json, "order", cv_trace_order_name(order->kind));
    cv_json_key(json, "worker");
    if (header->task == CLEAVE_TASK_LOAD && order->worker < header->nworkers)
        cv_json_text(json, header->names[order->worker]);
    else
        cv_json_count(json, order->worker);
    cv_trace_order_fields(json, order, has_items(file));
    cv_json_end(json);
}

static int print_json(const struct cv_trace_file *file,
                      const struct cleave_replayed *found, double outside)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_fields(&json, "policy %s, same %d, orders %llu, unrecorded %g",
              file->header.policy, found->same, (unsigned long long)found->orders,
              outside);
    cv_json_key(&json, "difference");
    if (found->same) {
        cv_json_text(&json, NULL);
    } else {
        cv_json_object(&json);
        cv_fields(&json, "order %llu, line %zu, time %g",
                  (unsigned long long)found->orders + 1, found->entry + 2, found->time_s);
        put_order(&json, "recorded", file, found->has_recorded, &found->recorded);
        put_order(&json, "now", file, found->has_now, &found->now);
        cv_json_end(&json);
    }
    return cv_result_close(&json);
}

static int replay(const char *path, bool json)
{
    struct cv_trace_file file = { .trace = NULL };
    struct cleave_replayed found;
    struct cleave_error err;
    int status = CV_EXIT_DONE;

    if (cv_trace_file_load(path, &(struct cv_trace_wanted){ .any = true }, &file, &err) !=
        CLEAVE_OK) {
        status = cv_print_status(&err);
    } else if (cleave_replay(file.trace, NULL, &found, &err) != CLEAVE_OK) {
        snprintf(err.file, sizeof err.file, "%s", cv_input_name(path));
        status = cv_print_status(&err);
    } else {
        status = (json ? print_json : print_text)(&file, &found, unrecorded(&file));
        if (!found.same)
            status = CV_EXIT_FAILED;
    }
    cv_trace_file_done(&file);
    return status;
}

static int replay_run(const struct cv_call *call)
{
    const struct replay_values *values = call->values;

    CV_DO(check_path(call->noperands > 0 ? call->operands[0] : NULL));
    return replay(call->operands[0], values->json != 0);
}

const struct cv_verb cv_verb_replay = {
    .name = "replay",
    .summary = "ask the policy of a trace again and compare its orders",
    .description =
        "Reads a trace that plan, simulate or run wrote with --trace, gives its policy "
        "the same events again, one by one, and compares its orders with the recorded "
        "ones. A policy knows nothing else, so all orders are the same unless the policy "
        "or the trace was changed. Ends with 1 at the first difference, and prints its "
        "time, its worker and the order that the policy would give now. A run that was "
        "stopped is compared up to its end. Work that a run shared out without its "
        "policy, after hosts were lost, is not in the trace: cleave prints its amount.",
    .operands = "TRACE",
    .operand_files = true,
    .max_operands = 1,
    .groups = CV_GROUPS(CV_GROUP("Output", replay_options)),
    .examples = "cleave simulate load -p examples/unequal.yaml -l 2000 --error 0.2 "
                "--trace run.jsonl\n"
                "cleave replay run.jsonl",
    .values_size = sizeof(struct replay_values),
    .run = replay_run,
};
