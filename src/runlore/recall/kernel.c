/* The inner loops of the ranking index, in C99 that needs nothing but memory: what numpy does beside it, faster.

   Everything here is done in Python too, and the tests hold both to the same answers. No rule stands here: what a
   term counts, what state and age add, and which chunk has which terms are tables that the caller hands in.
   Nothing is kept between two calls but a `Words`, which belongs to one build. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Rows that are summed up at once: their points fit into the nearest cache. */
#define BLOCK 4096
/* So many blocks come first. */
#define FIRST_BLOCKS 4
/* With fewer postings than one in so many rows, a block is gone through by postings, not by rows. */
#define SPARSE 16
#define ROWS_AT_ONCE 32
/* To look for a row in a list takes as long as to read so many postings. */
#define LOOKED_UP_COST 16
/* A list is counted anew, and not remembered, up to so many postings and so many for each row that has gone. */
#define COUNTED_ANEW 64
#define COUNTED_ANEW_A_ROW 16

typedef struct {
    int64_t rows, terms, summaries;
    /* Keys stand in two runs, all high halves and then all low ones. */
    const uint64_t *term_key, *summary_key;
    const int64_t *term_start;
    const uint8_t *term_impact_max;
    const uint32_t *posting_row;
    const uint8_t *posting_impact;
    const uint16_t *category;
    const int64_t *created_at_us, *revision, *id_start;
    /* The number of each long list, -1 for the others; where each block begins in it, and what it has at most there. */
    const int32_t *long_list;
    uint32_t *block_start;
    uint8_t *block_max;
} Segment;

typedef struct {
    int64_t total, row, created_at_us, revision, id_start, id_end;
} Hit;

/* What a total has besides the points of the words. */
typedef struct {
    /* `below_max` is the most that state and recency add. */
    int64_t token_scale, recency_max, below_max, steps;
    const int64_t *state_points, *recency_steps_ms;
} Scale;

static uint64_t read_half(const uint8_t *bytes)
{
    uint64_t half = 0;
    for (int at = 7; at >= 0; at--)
        half = half << 8 | bytes[at];
    return half;
}

/* Where a key stands among sorted ones, the first of equals; -1 where it does not. */
static int64_t find(const uint64_t *keys, int64_t size, const uint8_t *digest)
{
    const uint64_t *low_half = keys + size;
    uint64_t high = read_half(digest), low = read_half(digest + 8);
    int64_t first = 0, end = size;
    while (first < end) {
        int64_t middle = first + (end - first) / 2;
        if (keys[middle] < high || (keys[middle] == high && low_half[middle] < low))
            first = middle + 1;
        else
            end = middle;
    }
    return first < size && keys[first] == high && low_half[first] == low ? first : -1;
}

/* The first of ascending rows that is not before `row`, looked for near the beginning. */
static int64_t seek(const uint32_t *rows, int64_t from, int64_t end, int64_t row)
{
    int64_t step = 1, first = from;
    while (first + step < end && rows[first + step] < row) {
        first += step;
        step *= 2;
    }
    int64_t last = first + step < end ? first + step : end;
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (rows[middle] < row)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static int64_t blocks_of(const Segment *segment)
{
    return (segment->rows + BLOCK - 1) / BLOCK;
}

EXPORT int64_t block_rows(void) { return BLOCK; }

/* Fill in the blocks of the long lists. */
EXPORT void fill_blocks(const Segment *segment)
{
    int64_t blocks = blocks_of(segment);
    for (int64_t term = 0; term < segment->terms; term++) {
        if (segment->long_list[term] < 0)
            continue;
        int64_t first = segment->term_start[term], at = 0, length = segment->term_start[term + 1] - first;
        const uint32_t *rows = segment->posting_row + first;
        uint32_t *starts = segment->block_start + segment->long_list[term] * (blocks + 1);
        uint8_t *maxima = segment->block_max + segment->long_list[term] * blocks;
        for (int64_t block = 0; block < blocks; block++) {
            uint8_t most = 0;
            starts[block] = (uint32_t)at;
            for (; at < length && rows[at] < (block + 1) * BLOCK; at++)
                if (segment->posting_impact[first + at] > most)
                    most = segment->posting_impact[first + at];
            maxima[block] = most;
        }
        starts[blocks] = (uint32_t)length;
    }
}

/* The number of each term, or -1, and in how many of the rows that are seen it stands. The digest behind those of
   the terms is the whole query's: the answer is whether a summary says just that.

   `found` has the numbers of all terms first, then how often each is. `counts` remembers one more than what was
   counted before the rows in `removed` went. */
EXPORT int32_t look_up(const Segment *segment, const uint8_t *mask, int32_t *counts, const int64_t *removed,
                       int64_t removed_size, const uint8_t *digests, int64_t size, int64_t *found)
{
    int64_t *terms = found, *frequency = found + size;
    for (int64_t each = 0; each < size; each++) {
        int64_t term = terms[each] = find(segment->term_key, segment->terms, digests + 16 * each);
        frequency[each] = 0;
        if (term < 0)
            continue;
        int64_t start = segment->term_start[term], length = segment->term_start[term + 1] - start;
        const uint32_t *rows = segment->posting_row + start;
        int64_t seen = 0, gone = 0;
        if (length <= COUNTED_ANEW + COUNTED_ANEW_A_ROW * removed_size) {
            for (int64_t at = 0; at < length; at++)
                seen += mask[rows[at]];
            frequency[each] = seen;
            continue;
        }
        for (int64_t at = 0; at < removed_size; at++) {
            int64_t place = seek(rows, 0, length, removed[at]);
            gone += place < length && rows[place] == removed[at];
        }
        if (!counts[term]) {
            for (int64_t at = 0; at < length; at++)
                seen += mask[rows[at]];
            counts[term] = (int32_t)(seen + gone + 1);
        }
        frequency[each] = counts[term] - 1 - gone;
    }
    return find(segment->summary_key, segment->summaries, digests + 16 * size) >= 0;
}

typedef struct {
    const uint32_t *rows;
    const uint8_t *impacts;
    /* NULL for a short list. */
    const uint32_t *block_start;
    const uint8_t *block_max;
    /* Where the block that is read begins, and where it ends. */
    int64_t from, to;
    int64_t length, gain_max;
    int32_t weight;
} List;

typedef struct {
    const Segment *segment;
    const uint8_t *mask;
    const Scale *scale;
    Hit *hits;
    int64_t newest_at_ms, size, limit, floor;
} Contest;

/* By what they can give for their length, the least first. */
static int compare_lists(const void *one, const void *other)
{
    const List *left = one, *right = other;
    int64_t first = left->gain_max * right->length, second = right->gain_max * left->length;
    return (first > second) - (first < second);
}

static int is_below(const Hit *one, const Hit *other)
{
    return one->total < other->total || (one->total == other->total && one->row > other->row);
}

/* The worst of the hits stands first. */
static void sink(Contest *contest, int64_t at)
{
    Hit *hits = contest->hits, hit = hits[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= contest->size)
            break;
        if (child + 1 < contest->size && is_below(&hits[child + 1], &hits[child]))
            child++;
        if (!is_below(&hits[child], &hit))
            break;
        hits[at] = hits[child];
        at = child;
    }
    hits[at] = hit;
}

static void enter(Contest *contest, Hit hit)
{
    Hit *hits = contest->hits;
    if (contest->size == contest->limit) {
        if (!is_below(&hits[0], &hit))
            return;
        hits[0] = hit;
        sink(contest, 0);
    } else {
        int64_t at = contest->size++;
        for (; at && is_below(&hit, &hits[(at - 1) / 2]); at = (at - 1) / 2)
            hits[at] = hits[(at - 1) / 2];
        hits[at] = hit;
    }
    if (contest->size == contest->limit && hits[0].total > contest->floor)
        contest->floor = hits[0].total;
}

/* The fewest points with which a row can still come in. */
static int64_t least_points(const Contest *contest)
{
    int64_t above = contest->floor - contest->scale->below_max, scale = contest->scale->token_scale;
    return above <= scale ? 1 : (above + scale - 1) / scale;
}

static void weigh(Contest *contest, int64_t row, int64_t points)
{
    const Segment *segment = contest->segment;
    const Scale *scale = contest->scale;
    if (scale->token_scale * points + scale->below_max < contest->floor)
        return;
    int64_t created = segment->created_at_us[row], lost = 0;
    int64_t age_ms = contest->newest_at_ms - (created >= 0 ? created / 1000 : -((999 - created) / 1000));
    while (lost < scale->steps && scale->recency_steps_ms[lost] <= age_ms)
        lost++;
    int64_t total = scale->token_scale * points + scale->state_points[segment->category[row]];
    total += scale->recency_max - lost;
    if (total >= contest->floor)
        enter(contest, (Hit){total, row, created, segment->revision[row], segment->id_start[row],
                             segment->id_start[row + 1]});
}

/* The rows of a block that can still come in, by their distance from its first, and their points. */
typedef struct {
    int64_t first, rows, size;
    uint16_t row[BLOCK];
    int32_t points[BLOCK];
    /* Room to sum up, and to lay out a list: nothing but zeros between two uses. */
    int32_t sums[BLOCK];
    uint8_t impacts[BLOCK];
} Block;

/* What each block can give at most. */
static void promise(int64_t *promises, int64_t blocks, const List *list)
{
    if (list->block_start) {
        for (int64_t number = 0; number < blocks; number++)
            promises[number] += list->weight * (int64_t)list->block_max[number];
        return;
    }
    int64_t last = -1;
    for (int64_t at = 0; at < list->length; at++) {
        int64_t number = list->rows[at] / BLOCK;
        promises[number] += number == last ? 0 : list->gain_max;
        last = number;
    }
}

/* Find what a list has in a block, and what it can give there at most. */
static int64_t enter_block(List *list, int64_t number, int64_t first)
{
    if (list->block_start) {
        list->from = list->block_start[number];
        list->to = list->block_start[number + 1];
        return list->weight * (int64_t)list->block_max[number];
    }
    /* The blocks that promise most are read first, so the way may lead back. */
    if (list->from && list->rows[list->from - 1] >= first)
        list->from = 0;
    list->from = seek(list->rows, list->from, list->length, first);
    list->to = seek(list->rows, list->from, list->length, first + BLOCK);
    return list->to > list->from ? list->gain_max : 0;
}

/* Sum up some lists, and take the visible rows with at least `able` points. */
static void sum_up(Block *block, const uint8_t *mask, const List *lists, int64_t size, int64_t able)
{
    int64_t first = block->first, read = 0, kept = 0;
    int32_t *sums = block->sums, least = (int32_t)able;
    mask += first;
    for (const List *list = lists; list < lists + size; list++) {
        int32_t weight = list->weight;
        for (int64_t at = list->from; at < list->to; at++)
            sums[list->rows[at] - first] += weight * list->impacts[at];
        read += list->to - list->from;
    }
    if (read * SPARSE < block->rows) {
        for (const List *list = lists; list < lists + size; list++)
            for (int64_t at = list->from; at < list->to; at++) {
                int64_t row = list->rows[at] - first;
                block->row[kept] = (uint16_t)row;
                block->points[kept] = sums[row];
                kept += (sums[row] >= least) & mask[row];
                sums[row] = 0;
            }
    } else {
        for (int64_t from = 0; from < block->rows; from += ROWS_AT_ONCE) {
            int32_t any = 0;
            for (int64_t row = from; row < from + ROWS_AT_ONCE; row++)
                any |= sums[row] >= least;
            if (!any)
                continue;
            int64_t end = from + ROWS_AT_ONCE < block->rows ? from + ROWS_AT_ONCE : block->rows;
            for (int64_t row = from; row < end; row++) {
                block->row[kept] = (uint16_t)row;
                block->points[kept] = sums[row];
                kept += (sums[row] >= least) & mask[row];
            }
        }
        memset(sums, 0, (size_t)block->rows * sizeof *sums);
    }
    block->size = kept;
}

/* What a list adds to the rows that are left of a block. */
static void add_list(Block *block, const List *list)
{
    int64_t first = block->first;
    if (block->size * LOOKED_UP_COST < list->to - list->from) {
        for (int64_t each = 0; each < block->size; each++) {
            int64_t row = first + block->row[each], place = seek(list->rows, list->from, list->to, row);
            if (place < list->to && list->rows[place] == row)
                block->points[each] += list->weight * list->impacts[place];
        }
        return;
    }
    for (int64_t at = list->from; at < list->to; at++)
        block->impacts[list->rows[at] - first] = list->impacts[at];
    for (int64_t each = 0; each < block->size; each++)
        block->points[each] += list->weight * block->impacts[block->row[each]];
    memset(block->impacts, 0, (size_t)block->rows);
}

static void keep_able(Block *block, int64_t able)
{
    int64_t kept = 0;
    for (int64_t each = 0; each < block->size; each++) {
        block->row[kept] = block->row[each];
        block->points[kept] = block->points[each];
        kept += block->points[each] >= able;
    }
    block->size = kept;
}

/* The hits of a block. Lists that together cannot lift a row to the floor are read only for rows that the others
   name. */
static void read_block(Contest *contest, Block *block, List *lists, int64_t size, int64_t number)
{
    int64_t gains[size + 1], open = 0, least = least_points(contest);
    block->first = number * BLOCK;
    gains[0] = 0;
    for (int64_t each = 0; each < size; each++) {
        gains[each + 1] = gains[each] + enter_block(lists + each, number, block->first);
        if (gains[each + 1] < least)
            open = each + 1;
    }
    if (open == size)
        return;
    block->rows = contest->segment->rows - block->first < BLOCK ? contest->segment->rows - block->first : BLOCK;
    sum_up(block, contest->mask, lists + open, size - open, least > gains[open] ? least - gains[open] : 1);
    for (int64_t each = open - 1; each >= 0 && block->size; each--) {
        add_list(block, lists + each);
        keep_able(block, least - gains[each]);
    }
    for (int64_t each = 0; each < block->size; each++)
        weigh(contest, block->first + block->row[each], block->points[each]);
}

/* The `limit` best rows with a total of at least `floor`, of equal totals the smaller row; how many they are.
   `wanted` has the numbers of all terms first, then their weights. */
EXPORT int64_t find_best(const Segment *segment, const uint8_t *mask, const int64_t *wanted, int64_t size,
                         const Scale *scale, int64_t newest_at_ms, int64_t limit, int64_t floor, Hit *hits)
{
    const int64_t *terms = wanted, *weights = wanted + size;
    int64_t blocks = blocks_of(segment), used = 0;
    Block block;
    memset(block.sums, 0, sizeof block.sums);
    memset(block.impacts, 0, sizeof block.impacts);
    List lists[size + 1];
    for (int64_t each = 0; each < size; each++) {
        int64_t term = terms[each], weight = weights[each];
        if (term < 0 || !weight)
            continue;
        int64_t start = segment->term_start[term], number = segment->long_list[term];
        List *list = lists + used++;
        *list = (List){.rows = segment->posting_row + start, .impacts = segment->posting_impact + start,
                       .length = segment->term_start[term + 1] - start,
                       .gain_max = weight * segment->term_impact_max[term], .weight = (int32_t)weight};
        if (number >= 0) {
            list->block_start = segment->block_start + number * (blocks + 1);
            list->block_max = segment->block_max + number * blocks;
        }
    }
    qsort(lists, (size_t)used, sizeof *lists, compare_lists);
    Contest contest = {segment, mask, scale, hits, newest_at_ms, 0, limit, floor};
    int64_t *promises = calloc((size_t)blocks, sizeof *promises);
    if (!promises)
        return -1;
    for (int64_t each = 0; each < used; each++)
        promise(promises, blocks, lists + each);
    /* Those that promise most come first: the floor is then high for the others. */
    for (int64_t first = 0; first < FIRST_BLOCKS && first < blocks; first++) {
        int64_t best = 0;
        for (int64_t number = 1; number < blocks; number++)
            if (promises[number] > promises[best])
                best = number;
        if (promises[best] >= least_points(&contest))
            read_block(&contest, &block, lists, used, best);
        promises[best] = 0;
    }
    for (int64_t number = 0; number < blocks; number++)
        if (promises[number] >= least_points(&contest))
            read_block(&contest, &block, lists, used, number);
    free(promises);
    return contest.size;
}

static int is_digit(uint8_t sign) { return sign >= '0' && sign <= '9'; }
static int is_letter(uint8_t sign) { return (sign | 32) >= 'a' && (sign | 32) <= 'z'; }
static int is_word(uint8_t sign) { return is_digit(sign) || is_letter(sign); }

/* Behind the chunk of an ASCII text that begins at `at` with a letter or a digit: what the pattern
   `_CHUNK_ASCII` of `domain/text/analysis.py` matches there. */
static const uint8_t *skip_chunk(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *behind = at + ((*at | 32) == 'v');
    int parts = 0;
    while (behind < end && is_digit(*behind)) {
        const uint8_t *dot = behind;
        while (dot < end && is_digit(*dot))
            dot++;
        behind = dot;
        parts++;
        if (dot + 1 >= end || *dot != '.' || !is_digit(dot[1]))
            break;
        behind = dot + 1;
    }
    if (parts > 1 && (behind == end || !is_word(*behind)))
        return behind;
    if (is_letter(*at)) {
        behind = at + 1 < end && at[1] == '#' ? at + 2 : at + 2 < end && at[1] == '+' && at[2] == '+' ? at + 3 : at;
        if (behind > at && (behind == end || !(is_letter(*behind) || *behind == '+' || *behind == '#')))
            return behind;
    }
    for (behind = at;;) {
        while (behind < end && is_word(*behind))
            behind++;
        if (behind + 1 >= end || !(*behind == '.' || *behind == '_' || *behind == '-') || !is_word(behind[1]))
            break;
        behind++;
    }
    if (behind + 1 < end && *behind == '\'' && is_letter(behind[1])) {
        const uint8_t *ending = behind + 2 + (behind + 2 < end && is_letter(behind[2]));
        if (ending == end || !is_word(*ending))
            return ending;
    }
    return behind;
}

/* The distinct chunks that were read so far, each with a line break behind it, by their first appearance. */
typedef struct {
    uint8_t *text;
    int64_t *start;
    uint64_t *hashes;
    uint32_t *slots;
    int64_t size, distinct, room;
    uint64_t seed;
} Words;

static uint64_t hash_of(const uint8_t *at, int64_t length, uint64_t seed)
{
    uint64_t hash = seed ^ (uint64_t)length * 0x9E3779B97F4A7C15u;
    for (; length > 0; at += 8, length -= 8) {
        uint64_t part = 0;
        memcpy(&part, at, (size_t)(length < 8 ? length : 8));
        hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
        hash = (hash + seed) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 29;
    }
    return hash;
}

static int grow_table(Words *words, int64_t size)
{
    uint32_t *slots = calloc((size_t)size, sizeof *slots);
    uint64_t *hashes = realloc(words->hashes, (size_t)size / 2 * sizeof *hashes);
    words->hashes = hashes ? hashes : words->hashes;
    int64_t *start = realloc(words->start, (size_t)(size / 2 + 1) * sizeof *start);
    words->start = start ? start : words->start;
    if (!slots || !hashes || !start) {
        free(slots);
        return 0;
    }
    if (!words->distinct)
        start[0] = 0;
    for (int64_t each = 0; each < words->distinct; each++) {
        uint64_t slot = words->hashes[each] & (uint64_t)(size - 1);
        while (slots[slot])
            slot = (slot + 1) & (uint64_t)(size - 1);
        slots[slot] = (uint32_t)each + 1;
    }
    free(words->slots);
    words->slots = slots;
    words->size = size;
    return 1;
}

static int grow_text(Words *words, int64_t needed)
{
    int64_t room = words->room + words->room / 2 > needed ? words->room + words->room / 2 : needed;
    uint8_t *text = realloc(words->text, (size_t)room);
    if (!text)
        return 0;
    words->text = text;
    words->room = room;
    return 1;
}

/* The number of a chunk; -1 where there is no memory. */
static int64_t number_of(Words *words, const uint8_t *at, int64_t length)
{
    if (2 * words->distinct >= words->size && !grow_table(words, words->size ? 2 * words->size : 1 << 10))
        return -1;
    uint64_t hash = hash_of(at, length, words->seed), slot = hash & (uint64_t)(words->size - 1);
    for (; words->slots[slot]; slot = (slot + 1) & (uint64_t)(words->size - 1)) {
        int64_t each = words->slots[slot] - 1, start = words->start[each];
        if (words->hashes[each] == hash && words->start[each + 1] - start == length + 1 &&
            !memcmp(words->text + start, at, (size_t)length))
            return each;
    }
    int64_t start = words->start[words->distinct], end = start + length + 1;
    if (end > words->room && !grow_text(words, end))
        return -1;
    memcpy(words->text + start, at, (size_t)length);
    words->text[end - 1] = '\n';
    words->slots[slot] = (uint32_t)words->distinct + 1;
    words->hashes[words->distinct] = hash;
    words->start[words->distinct + 1] = end;
    return words->distinct++;
}

EXPORT void free_words(Words *words)
{
    if (words) {
        free(words->text);
        free(words->start);
        free(words->hashes);
        free(words->slots);
    }
    free(words);
}

EXPORT Words *make_words(uint64_t seed)
{
    Words *words = calloc(1, sizeof *words);
    if (words && !grow_table(words, 1 << 10)) {
        free_words(words);
        return NULL;
    }
    if (words)
        words->seed = seed;
    return words;
}

/* Take texts that stand behind one another apart, the ASCII ones by the pattern, the others at the line breaks
   between their chunks. `said` has the number of each chunk, `many` how many each text has, and `added` where the
   text of the new ones begins and how long it is. How many chunks the texts have, or -1. */
EXPORT int64_t read_texts(Words *words, const uint8_t *text, const int64_t *lengths, const uint8_t *is_ascii,
                          int64_t texts, uint32_t *said, uint32_t *many, int64_t *added)
{
    const uint8_t *place = text;
    const uint32_t *begin = said;
    int64_t known = words->start[words->distinct];
    for (int64_t each = 0; each < texts; each++) {
        const uint8_t *end = place + lengths[each];
        const uint32_t *first = said;
        while (place < end) {
            const uint8_t *behind = place;
            if (is_ascii[each] && !is_word(*place)) {
                place++;
                continue;
            }
            if (is_ascii[each])
                behind = skip_chunk(place, end);
            else
                while (behind < end && *behind != '\n')
                    behind++;
            int64_t number = number_of(words, place, behind - place);
            if (number < 0)
                return -1;
            *said++ = (uint32_t)number;
            place = behind + !is_ascii[each];
        }
        place = end;
        many[each] = (uint32_t)(said - first);
    }
    added[0] = (int64_t)(uintptr_t)(words->text + known);
    added[1] = words->start[words->distinct] - known;
    return said - begin;
}

typedef struct {
    const uint32_t *chunk;
    const int64_t *text_start;
    const uint32_t *term;
    const int64_t *chunk_start;
    int64_t terms;
} Occurrences;

/* Count the terms of rows in this order, each of which has two texts, the summary first: where the postings of each
   term begin, and how many terms each summary has. `last` is room for a number of each term. */
EXPORT void count_terms(const Occurrences *said, const uint32_t *order, int64_t rows, int64_t *start, uint32_t *last,
                        uint32_t *length)
{
    memset(start, 0, (size_t)(said->terms + 1) * sizeof *start);
    memset(last, -1, (size_t)said->terms * sizeof *last);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *text = said->text_start + 2 * (int64_t)order[row];
        uint32_t many = 0;
        for (int64_t each = text[0]; each < text[2]; each++) {
            int64_t first = said->chunk_start[said->chunk[each]], end = said->chunk_start[said->chunk[each] + 1];
            many += each < text[1] ? (uint32_t)(end - first) : 0;
            for (int64_t at = first; at < end; at++) {
                uint32_t term = said->term[at];
                start[term + 1] += last[term] != row;
                last[term] = (uint32_t)row;
            }
        }
        length[row] = many;
    }
    for (int64_t term = 0; term < said->terms; term++)
        start[term + 1] += start[term];
}

/* The postings of the same rows: how often the term stands in the summary, doubled, and one more where it stands in
   the metadata. `filled` has as many zeros as there are terms. */
EXPORT void fill_postings(const Occurrences *said, const uint32_t *order, int64_t rows, const int64_t *start,
                          uint32_t *filled, uint32_t *row_of, uint32_t *counts)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *text = said->text_start + 2 * (int64_t)order[row];
        for (int64_t each = text[0]; each < text[2]; each++) {
            int64_t end = said->chunk_start[said->chunk[each] + 1];
            for (int64_t at = said->chunk_start[said->chunk[each]]; at < end; at++) {
                uint32_t term = said->term[at];
                int64_t place = start[term] + filled[term];
                if (!filled[term] || row_of[place - 1] != row) {
                    row_of[place] = (uint32_t)row;
                    counts[place++] = 0;
                    filled[term]++;
                }
                if (each < text[1])
                    counts[place - 1] += 2;
                else
                    counts[place - 1] |= 1;
            }
        }
    }
}

/* Otherwise the C library keeps what was freed between two things that live on. */
EXPORT void give_back_memory(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}
