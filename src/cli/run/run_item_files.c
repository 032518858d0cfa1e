/* run_item_files.c -- files that go to other machines with items, and come back.
 * SPDX-License-Identifier: MIT */
#include "cli/run/run_item_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/common/output.h"

static int read_templates(const struct cv_call *call, struct cv_run_items *items,
                          const char *const *texts, size_t count,
                          struct cv_item_template **out, size_t *out_count)
{
    int status = CV_EXIT_DONE;

    if (count == 0)
        return CV_EXIT_DONE;
    *out = calloc(count, sizeof **out);
    if (*out == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the items");
    for (size_t i = 0; i < count && status == CV_EXIT_DONE; i++) {
        status = cv_run_template_read(call, items, texts[i], &(*out)[i]);
        *out_count += status == CV_EXIT_DONE;
    }
    return status;
}

int cv_item_files_open(const struct cv_call *call, struct cv_run_items *items)
{
    const struct cv_run_options *values = call->values;
    const size_t count = values->transfers.count;
    const char **sent = cv_array(call->arena, count + 1, sizeof *sent);
    int status;

    if (sent == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the items");
    if (count > 0)
        memcpy(sent, values->transfers.items, count * sizeof *sent);
    if (values->transfer)
        sent[count] = values->replace != NULL ? values->replace : "{}";
    status = read_templates(call, items, sent, count + (values->transfer != 0),
                            &items->sends, &items->nsends);
    if (status == CV_EXIT_DONE)
        status = read_templates(call, items, values->returns.items, values->returns.count,
                                &items->returns, &items->nreturns);
    return status;
}

void cv_item_files_done(struct cv_run_items *items)
{
    for (size_t i = 0; i < items->nsends; i++)
        cv_item_template_done(&items->sends[i]);
    for (size_t i = 0; i < items->nreturns; i++)
        cv_item_template_done(&items->returns[i]);
    free(items->sends);
    free(items->returns);
}

/* The names that templates make of an item. */
static enum cleave_status fill_names(const struct cv_run_items *items,
                                     const struct cv_item_template *templates,
                                     size_t count, uint64_t item, uint32_t slot,
                                     char ***out, struct cleave_error *err)
{
    struct cv_item_words names = { .bytes = NULL };
    struct cv_text name = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; status == CLEAVE_OK && i < count; i++) {
        name.length = 0;
        status = cv_run_template_fill(items, &templates[i], item, slot, &name, err);
        if (status == CLEAVE_OK && name.failed)
            status = cv_fail_memory(err, "the names of files");
        if (status == CLEAVE_OK)
            cv_item_words_add(&names, name.bytes, name.length);
    }
    cv_text_done(&name);
    return cv_item_words_take(&names, status, out, err);
}

static enum cleave_status get_sends(void *context, uint64_t item, uint32_t slot,
                                    char ***out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    return fill_names(items, items->sends, items->nsends, item, slot, out, err);
}

static enum cleave_status get_returns(void *context, uint64_t item, uint32_t slot,
                                      char ***out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    return fill_names(items, items->returns, items->nreturns, item, slot, out, err);
}

/* "." is this folder, below the home there if it is below the home here. */
static int name_folder(const struct cv_call *call, const char **folder)
{
    const char *home = getenv("HOME");
    char *here;
    size_t length = home != NULL ? strlen(home) : 0;

    if (*folder == NULL || strcmp(*folder, ".") != 0)
        return CV_EXIT_DONE;
    here = getcwd(NULL, 0);
    if (here == NULL)
        return cv_print_error(CV_EXIT_FAILED,
                              "--workdir: cannot tell which folder this is: %s",
                              strerror(errno));
    if (length > 1 && strncmp(here, home, length) == 0 && here[length] == '/') {
        struct cv_text text = { NULL, 0, 0, false };

        cv_text_add(&text, "~%s", here + length);
        *folder = cv_text_take(&text, call->arena);
    } else {
        *folder = cv_arena_text(call->arena, here);
    }
    free(here);
    return *folder != NULL
               ? CV_EXIT_DONE
               : cv_print_error(CV_EXIT_FAILED, "out of memory for the items");
}

int cv_item_files_fill(const struct cv_call *call, const struct cv_run_items *items,
                       struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    const char **base = cv_array(call->arena, values->basefiles.count + 1, sizeof *base);

    if (base == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the items");
    if (values->basefiles.count > 0)
        memcpy(base, values->basefiles.items, values->basefiles.count * sizeof *base);
    out->items.sends = items->nsends > 0 ? get_sends : NULL;
    out->items.returns = items->nreturns > 0 ? get_returns : NULL;
    out->hosts.base_files = base;
    out->hosts.cleanup = values->cleanup != 0;
    return name_folder(call, &out->hosts.work_directory);
}
