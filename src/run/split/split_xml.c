/* split_xml.c -- splitter of XML elements. SPDX-License-Identifier: MIT
 *
 *   xml:ELEMENT   before the start of every element of that name that is not within another one. Chunks
 *                 get the bytes before the first element, and the end tags of what is open there
 *
 * A start within a comment, a CDATA section, an instruction or quotes does not count, so all bytes must
 * be seen; between marks, memchr skips them. */
#include "run/split/split_kind.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"

/* walk->phase. walk->line: bytes of the name, mark or end; sequence: open elements of the name;
 * quality: the byte before (within tags); carriage: the first element of the record was seen. */
enum {
    TEXT,
    MARK,       /* after <                                   */
    START,      /* the name in a start tag                   */
    END,        /* the name in an end tag, after </          */
    ATTRIBUTES, /* the rest of a tag of the name             */
    OTHER_TAG,  /* a tag of another name                     */
    SINGLE,     /* within quotes of a tag                    */
    DOUBLE,
    OTHER_SINGLE,
    OTHER_DOUBLE,
    BANG,     /* after <!                                    */
    COMMENT,  /* up to -->                                   */
    CDATA,    /* up to ]]>                                   */
    DECLARED, /* <!DOCTYPE; walk->line: open brackets        */
    ASKED,    /* <? up to ?>                                 */
};

enum { MOST_NAME = 200, MOST_DEPTH = 256 };

static bool ends_name(char byte)
{
    return byte == '>' || byte == '/' || byte == ' ' || byte == '\t' || byte == '\r' ||
           byte == '\n';
}

/* Whether the bytes end with `text`, of three bytes; walk->line of them came last. */
static bool ends_with(struct cv_walk *walk, char byte, const char *text)
{
    if (byte == text[2] && walk->line == 2)
        return true;
    if (byte == text[0] && text[0] == text[1]) /* ---> and ]]]> end, too */
        walk->line = walk->line < 2 ? walk->line + 1 : 2;
    else
        walk->line = byte == text[walk->line] ? walk->line + 1 : 0;
    return false;
}

/* A byte of a declaration, given its open brackets. */
static void declared_byte(struct cv_walk *walk, char byte, uint64_t brackets)
{
    walk->phase = byte == '>' && brackets == 0 ? TEXT : DECLARED;
    walk->line = brackets + (byte == '[') - (byte == ']' && brackets > 0);
}

/* A byte after <!, which may begin a comment or a CDATA section. */
static void bang_byte(struct cv_walk *walk, char byte)
{
    static const char cdata[] = "[CDATA[";

    if (walk->line == 0) {
        walk->quality = (uint64_t)(unsigned char)byte;
        walk->line = 1;
        if (byte != '-' && byte != '[')
            declared_byte(walk, byte, 0);
    } else if (walk->quality == '-') {
        walk->line = 0;
        walk->phase = COMMENT;
        if (byte != '-')
            declared_byte(walk, byte, 0);
    } else if (byte != cdata[walk->line]) {
        declared_byte(walk, byte, 1);
    } else if (++walk->line == sizeof cdata - 1) {
        walk->line = 0;
        walk->phase = CDATA;
    }
}

/* A byte of a tag after its name; own: a start tag of the name. */
static void tag_byte(struct cv_walk *walk, char byte, bool own)
{
    if (byte == '"')
        walk->phase = own ? DOUBLE : OTHER_DOUBLE;
    else if (byte == '\'')
        walk->phase = own ? SINGLE : OTHER_SINGLE;
    else if (byte == '>') {
        if (own && walk->quality == '/')
            walk->sequence--;
        walk->phase = TEXT;
    }
    walk->quality = (uint64_t)(unsigned char)byte;
}

/* A byte of the name of a tag. *own: it is the name of the splitter, and ends here. */
static void name_byte(const struct cv_splitter *splitter, struct cv_walk *walk, char byte,
                      bool *own)
{
    if (walk->line < splitter->prefix_length && byte == splitter->prefix[walk->line]) {
        walk->line++;
        return;
    }
    *own = walk->line == splitter->prefix_length && ends_name(byte);
    if (*own)
        return;
    walk->phase = OTHER_TAG;
    tag_byte(walk, byte, false);
}

static void markup_byte(struct cv_walk *walk, char byte)
{
    switch (walk->phase) {
    case MARK:
        walk->line = 0;
        walk->quality = 0;
        walk->phase = byte == '/'   ? END
                      : byte == '!' ? BANG
                      : byte == '?' ? ASKED
                                    : START;
        break;
    case BANG:
        bang_byte(walk, byte);
        break;
    case COMMENT:
        if (ends_with(walk, byte, "-->"))
            walk->phase = TEXT;
        break;
    case CDATA:
        if (ends_with(walk, byte, "]]>"))
            walk->phase = TEXT;
        break;
    case DECLARED:
        declared_byte(walk, byte, walk->line);
        break;
    case ASKED:
        if (byte == '>' && walk->quality == '?')
            walk->phase = TEXT;
        walk->quality = (uint64_t)(unsigned char)byte;
        break;
    case ATTRIBUTES:
    case OTHER_TAG:
        tag_byte(walk, byte, walk->phase == ATTRIBUTES);
        break;
    default: /* in quotes */
        if (byte == (walk->phase == SINGLE || walk->phase == OTHER_SINGLE ? '\'' : '"'))
            walk->phase = walk->phase <= DOUBLE ? ATTRIBUTES : OTHER_TAG;
    }
}

/* A start tag of the name at `mark`. False: the walk ends there. */
static bool begin_element(struct cv_walk *walk, uint64_t mark)
{
    if (walk->sequence > 0 || !walk->carriage) {
        walk->carriage = true;
        return true;
    }
    walk->boundary = mark;
    walk->found++;
    if (mark < walk->until)
        return true;
    walk->at = mark;
    walk->phase = TEXT;
    walk->begun = walk->carriage = false;
    return false;
}

/* The byte after the name of a tag of the name. */
static void own_tag(struct cv_walk *walk, char byte, bool starts)
{
    if (starts)
        walk->sequence++;
    else if (walk->sequence > 0)
        walk->sequence--;
    walk->quality = 0;
    walk->phase = starts ? ATTRIBUTES : OTHER_TAG;
    tag_byte(walk, byte, starts);
}

static enum cleave_status walk_xml(const struct cv_splitter *splitter,
                                   struct cv_walk *walk, const char *bytes, size_t length,
                                   struct cleave_error *err)
{
    const char *const end = bytes + length;

    (void)err;
    walk->begun = walk->begun || length > 0;
    while (bytes < end) {
        bool own = false;
        char byte;

        if (walk->phase == TEXT) {
            const char *mark = memchr(bytes, '<', (size_t)(end - bytes));

            walk->at += (uint64_t)((mark != NULL ? mark + 1 : end) - bytes);
            bytes = mark != NULL ? mark + 1 : end;
            walk->phase = mark != NULL ? MARK : TEXT;
            continue;
        }
        byte = *bytes++;
        if (walk->phase == MARK && byte != '/' && byte != '!' && byte != '?')
            markup_byte(walk, byte); /* the first byte of a name */
        if (walk->phase == START || walk->phase == END) {
            const bool starts = walk->phase == START;

            name_byte(splitter, walk, byte, &own);
            if (own && starts &&
                !begin_element(walk, walk->at - splitter->prefix_length - 1))
                return CLEAVE_OK;
            if (own)
                own_tag(walk, byte, starts);
        } else {
            markup_byte(walk, byte);
        }
        walk->at++;
    }
    return CLEAVE_OK;
}

static bool whole_xml(const struct cv_walk *walk)
{
    return walk->phase == TEXT && walk->sequence == 0;
}

/* --- frames of chunks --------------------------------------------------------------------- */

/* The bytes before the first record. */
static bool head_xml(const struct cv_splitter *splitter, const char *bytes, size_t length,
                     size_t *out)
{
    struct cv_walk walk;

    cv_walk_init(&walk, 0);
    walk.carriage = true;
    walk.until = 0;
    *out = 0;
    if (walk_xml(splitter, &walk, bytes, length, NULL) != CLEAVE_OK || walk.found == 0)
        return false;
    *out = (size_t)walk.boundary;
    return true;
}

/* The end of the markup that begins with < at `at`; `length`: none. */
static size_t behind_mark(const char *bytes, size_t length, size_t at)
{
    static const struct {
        const char *begin, *end;
    } pairs[] = { { "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" } };
    char quote = '\0';
    int brackets = 0;

    for (size_t i = 0; i < 3; i++) {
        const size_t begin = strlen(pairs[i].begin);
        const char *end;

        if (length - at < begin || memcmp(bytes + at, pairs[i].begin, begin) != 0)
            continue;
        end = memmem(bytes + at + begin, length - at - begin, pairs[i].end,
                     strlen(pairs[i].end));
        return end == NULL ? length : (size_t)(end - bytes) + strlen(pairs[i].end);
    }
    for (; at < length; at++) {
        const char byte = bytes[at];

        if (quote != '\0')
            quote = byte == quote ? '\0' : quote;
        else if (byte == '"' || byte == '\'')
            quote = byte;
        else if (byte == '>' && brackets == 0)
            return at + 1;
        else
            brackets += (byte == '[') - (byte == ']');
    }
    return length;
}

/* The end tags of all elements that are open after the head, the innermost first. */
static char *tail_xml(const char *head, size_t length)
{
    struct {
        size_t begin, length;
    } open[MOST_DEPTH];
    size_t depth = 0, total = 2;
    char *tail, *to;

    for (size_t at = 0; at < length;) {
        const char *mark = memchr(head + at, '<', length - at);
        size_t begin, end;

        if (mark == NULL)
            break;
        begin = (size_t)(mark - head) + 1;
        at = behind_mark(head, length, begin - 1);
        for (end = begin; end < length && !ends_name(head[end]);)
            end++;
        if (begin < length && head[begin] == '/' && depth > 0)
            depth--;
        else if (begin < length && strchr("/!?", head[begin]) == NULL &&
                 head[at - 2] != '/' && depth < MOST_DEPTH) {
            open[depth].begin = begin;
            open[depth++].length = end - begin;
        }
    }
    for (size_t i = 0; i < depth; i++)
        total += open[i].length + 3;
    tail = to = calloc(total, 1);
    while (tail != NULL && depth > 0) {
        depth--;
        *to++ = '<';
        *to++ = '/';
        to = mempcpy(to, head + open[depth].begin, open[depth].length);
        *to++ = '>';
    }
    if (tail != NULL)
        memcpy(to, "\n", 2);
    return tail;
}

static enum cleave_status parse_xml(struct cv_splitter *splitter, const char *argument,
                                    struct cleave_error *err)
{
    const size_t length = strlen(argument);
    char shown[64];

    if (length > MOST_NAME || argument[strcspn(argument, "<>/ \t\r\n\"'=&")] != '\0')
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected 'xml:' and the name of an element, as in xml:page, got "
                       "'%s'",
                       cv_shown(argument, length, shown, sizeof shown));
    splitter->prefix = strdup(argument);
    splitter->prefix_length = length;
    return splitter->prefix == NULL ? cv_fail_memory(err, "a splitter") : CLEAVE_OK;
}

const struct cv_split_kind cv_split_xml = {
    .name = "xml",
    .takes = "ELEMENT",
    .needs_pass = true,
    .frames = true,
    .ahead = 2, /* and the name */
    .parse = parse_xml,
    .walk = walk_xml,
    .whole = whole_xml,
    .head = head_xml,
    .tail = tail_xml,
};
