/* main.c -- check-vectors: run files of expected numbers through the library.
 * SPDX-License-Identifier: MIT
 *
 * Usage: check-vectors FILE...
 * One line per case that fails or cannot be run, then `N passed, N failed, N skipped`.
 * Exit status 0, 1 if a case failed, 2 if a file cannot be read.
 *
 * A file is a map with a list of cases under "vectors" or "cases". A case has a name
 * ("id" or "name"), a kind ("alg" or "kind", may be missing), inputs ("in" or "input"),
 * expected results ("out" or "expect") and a tolerance ("tol"). The format is what the
 * file says under "format", or else under "paper". */
#include <stdio.h>
#include <string.h>

#include "kinds.h"

struct tally {
    unsigned long counts[3]; /* by enum case_result */
};

static const struct json *either(const struct json *map, const char *one,
                                 const char *other)
{
    const struct json *value = json_get(map, one);

    return value != NULL ? value : json_get(map, other);
}

static const char *text_of(const struct json *value, const char *preset)
{
    return value != NULL && value->text != NULL ? value->text : preset;
}

static void read_tolerance(struct vector_case *c)
{
    const struct json *rel = json_get(c->tol, "rel"), *abs = json_get(c->tol, "abs");

    if (c->tol != NULL && c->tol->kind == JSON_NUMBER)
        c->rel = c->abs = c->tol->number;
    if (rel != NULL && rel->kind == JSON_NUMBER)
        c->rel = rel->number;
    if (abs != NULL && abs->kind == JSON_NUMBER)
        c->abs = abs->number;
}

/* An expectation that no code looked at is not a pass. */
static void check_all_compared(struct vector_case *c)
{
    if (c->out == NULL || c->out->kind != JSON_MAP) {
        case_fail(c, "expected a map of results to compare with, got none");
        return;
    }
    for (size_t i = 0; i < c->out->count; i++)
        if (i >= CASE_MOST_FIELDS || !c->compared[i]) {
            case_fail(c, "%s: listed, but nothing computes it", c->out->keys[i]);
            return;
        }
}

static void run_case(const struct json *item, const char *format, struct cv_arena *arena,
                     struct tally *tally)
{
    const char *kind = text_of(either(item, "alg", "kind"), "");
    struct vector_case c = {
        .id = text_of(either(item, "id", "name"), "?"),
        .in = either(item, "in", "input"),
        .out = either(item, "out", "expect"),
        .tol = json_get(item, "tol"),
        .arena = arena,
        .result = CASE_PASSED,
    };
    bool known;
    case_run *run = find_kind(format, kind, &known);

    read_tolerance(&c);
    if (!known) {
        case_skip(&c, "unknown format '%s'", format);
    } else if (run == NULL) {
        case_skip(&c, "no code for kind '%s' of format '%s'", kind, format);
    } else {
        run(&c);
        if (c.result == CASE_PASSED)
            check_all_compared(&c);
    }
    tally->counts[c.result]++;
    if (c.result != CASE_PASSED)
        printf("%s %s%s%s: %s\n", c.result == CASE_FAILED ? "failed" : "skipped", c.id,
               *kind == '\0' ? "" : " ", kind, c.text);
}

static bool run_file(const char *path, struct tally *tally)
{
    struct cv_arena file, scratch;
    const struct json *tree, *cases;
    char message[256];

    cv_arena_init(&file);
    cv_arena_init(&scratch);
    tree = json_load(path, &file, message, sizeof message);
    cases = either(tree, "vectors", "cases");
    if (tree != NULL && (cases == NULL || cases->kind != JSON_LIST)) {
        snprintf(message, sizeof message, "expected a list under 'vectors' or 'cases'");
        tree = NULL;
    }
    if (tree == NULL)
        fprintf(stderr, "check-vectors: %s: %s\n", path, message);
    for (size_t i = 0; tree != NULL && i < cases->count; i++) {
        run_case(&cases->items[i], text_of(either(tree, "format", "paper"), "none"),
                 &scratch, tally);
        cv_arena_reset(&scratch);
    }
    cv_arena_done(&scratch);
    cv_arena_done(&file);
    return tree != NULL;
}

int main(int argc, char **argv)
{
    struct tally tally = { { 0 } };
    bool readable = true;

    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fprintf(argc < 2 ? stderr : stdout, "usage: check-vectors FILE...\n");
        return argc < 2 ? 2 : 0;
    }
    for (int i = 1; i < argc; i++)
        readable = run_file(argv[i], &tally) && readable;
    printf("%lu passed, %lu failed, %lu skipped\n", tally.counts[CASE_PASSED],
           tally.counts[CASE_FAILED], tally.counts[CASE_SKIPPED]);
    return !readable ? 2 : tally.counts[CASE_FAILED] > 0 ? 1 : 0;
}
