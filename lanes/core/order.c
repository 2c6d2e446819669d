#include "lanes/core/steps.h"

struct lanes_job *lanes_find(const struct scheduler *s, lanes_job_id id)
{
    /* By halves: ids grow in the order of arrival. */
    size_t low = 0, high = s->num_present;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->present[mid]->id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->num_present && s->present[low]->id == id ? s->present[low] : NULL;
}

static bool compare(const struct scheduler *s, lanes_before_fn before, const struct lanes_job *a,
                    const struct lanes_job *b)
{
    return before(s, a, b) || (a->id < b->id && !before(s, b, a));
}

bool lanes_runs_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    return compare(s, s->order->runs_before, a, b);
}

bool lanes_enters_before(const struct scheduler *s, const struct lanes_job *a, const struct lanes_job *b)
{
    return compare(s, s->order->enters_before ? s->order->enters_before : s->order->runs_before, a, b);
}

/* The last of the heap of n is to be at its top. */
static void sift_down(const struct scheduler *s, lanes_before_fn before, size_t i, size_t n)
{
    struct lanes_job **heap = s->scratch;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(s, heap[child], heap[child + 1]))
            child++;
        if (!before(s, heap[i], heap[child]))
            return;
        struct lanes_job *up = heap[child];
        heap[child] = heap[i];
        heap[i] = up;
    }
}

void lanes_sort_scratch(const struct scheduler *s, size_t n, lanes_before_fn before)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(s, before, i, n);
    for (size_t end = n; end > 1; end--) {
        struct lanes_job *last = s->scratch[0];
        s->scratch[0] = s->scratch[end - 1];
        s->scratch[end - 1] = last;
        sift_down(s, before, 0, end - 1);
    }
}
