#include "lanes/core/memory.h"

static int free_lane(const struct device_memory *m)
{
    for (int i = 0; i < LANES_MAX_LANES; i++)
        if (m->lanes[i].num_jobs == 0)
            return i;
    return -1;
}

/* What is needed beside a lane: P, unless it lies in the lane. */
static int64_t outside(const struct lanes_rules *rules, int64_t persistent)
{
    return rules->lane_holds_persistent ? 0 : persistent;
}

static bool holds(const struct lanes_rules *rules, const struct lane *l, int64_t persistent,
                  int64_t ephemeral)
{
    if (!rules->lane_holds_persistent)
        return l->size >= ephemeral;
    int64_t largest = l->largest > ephemeral ? l->largest : ephemeral;
    return l->size >= l->persistent + persistent + largest;
}

/* The smallest lane that is good as it is, or (grows) that still fits when it has grown. */
static int smallest_lane(const struct device_memory *m, const struct lanes_rules *rules, bool grows,
                         int64_t persistent, int64_t ephemeral, int64_t room)
{
    int best = -1;
    for (int i = 0; i < LANES_MAX_LANES; i++) {
        const struct lane *l = &m->lanes[i];
        if (l->num_jobs == 0)
            continue;
        bool is_good = grows ? l->size < ephemeral && ephemeral - l->size <= room
                             : holds(rules, l, persistent, ephemeral);
        if (is_good && (best < 0 || (!rules->fixed_lanes && l->size < m->lanes[best].size)))
            best = i;
    }
    return best;
}

struct fit memory_fit(const struct device_memory *m, const struct lanes_rules *rules, int64_t persistent,
                      int64_t ephemeral)
{
    const struct fit none = {FIT_NONE, -1};
    /* Beside P. */
    int64_t room = m->capacity - memory_used(m) - outside(rules, persistent);
    int64_t new_size = rules->lane_holds_persistent ? persistent + ephemeral : ephemeral;
    int lane = free_lane(m);
    if (room < 0)
        return none;
    if (lane >= 0 && new_size <= room)
        return (struct fit){FIT_NEW, lane};
    lane = smallest_lane(m, rules, false, persistent, ephemeral, room);
    if (lane >= 0)
        return (struct fit){FIT_EXISTING, lane};
    if (!rules->fixed_lanes && !rules->lane_holds_persistent)
        lane = smallest_lane(m, rules, true, persistent, ephemeral, room);
    return lane >= 0 ? (struct fit){FIT_GROWN, lane} : none;
}

int memory_enter(struct device_memory *m, const struct lanes_rules *rules, struct fit fit, int64_t persistent,
                 int64_t ephemeral)
{
    struct lane *l = &m->lanes[fit.lane];
    int64_t size = l->size;
    if (fit.kind == FIT_NEW) {
        *l = (struct lane){0};
        m->num_lanes++;
        size = rules->lane_holds_persistent ? persistent + ephemeral : ephemeral;
    } else if (fit.kind == FIT_GROWN) {
        size = ephemeral;
    }
    m->in_lanes += size - l->size;
    m->persistent += outside(rules, persistent);
    l->size = size;
    l->persistent += rules->lane_holds_persistent ? persistent : 0;
    l->largest = ephemeral > l->largest ? ephemeral : l->largest;
    l->num_jobs++;
    return fit.lane;
}

bool memory_mergeable(const struct device_memory *m, size_t keep_lanes, int *out_from, int *out_into)
{
    int from = -1, into = -1;
    if (m->num_lanes <= keep_lanes)
        return false;
    for (int i = 0; i < LANES_MAX_LANES; i++) {
        const struct lane *l = &m->lanes[i];
        if (l->num_jobs > 0 && !l->is_running && (from < 0 || l->size < m->lanes[from].size))
            from = i;
    }
    for (int i = 0; from >= 0 && i < LANES_MAX_LANES; i++) {
        const struct lane *l = &m->lanes[i];
        if (i != from && l->num_jobs > 0 && l->size >= m->lanes[from].size &&
            (into < 0 || l->size < m->lanes[into].size))
            into = i;
    }
    *out_from = from;
    *out_into = into;
    return into >= 0;
}

void memory_merge(struct device_memory *m, int from, int into)
{
    struct lane *a = &m->lanes[from], *b = &m->lanes[into];
    b->num_jobs += a->num_jobs;
    b->largest = a->largest > b->largest ? a->largest : b->largest;
    m->in_lanes -= a->size;
    m->num_lanes--;
    *a = (struct lane){0};
}

void memory_leave(struct device_memory *m, const struct lanes_rules *rules, int lane, int64_t persistent,
                  int64_t largest)
{
    struct lane *l = &m->lanes[lane];
    int64_t size = rules->fixed_lanes ? l->size : largest;
    l->num_jobs--;
    l->largest = largest;
    l->persistent -= rules->lane_holds_persistent ? persistent : 0;
    m->persistent -= outside(rules, persistent);
    if (l->num_jobs == 0)
        size = 0;
    m->in_lanes += size - l->size;
    l->size = size;
    if (l->num_jobs > 0)
        return;
    *l = (struct lane){0};
    m->num_lanes--;
}

void memory_check(const struct device_memory *m)
{
    int64_t sum = 0;
    size_t lanes = 0;
    for (int i = 0; i < LANES_MAX_LANES; i++) {
        sum += m->lanes[i].size;
        lanes += m->lanes[i].num_jobs > 0;
        if (m->lanes[i].largest > m->lanes[i].size)
            bug("lane %d has %lld bytes for a job that needs %lld", i, (long long)m->lanes[i].size,
                (long long)m->lanes[i].largest);
    }
    if (sum != m->in_lanes || lanes != m->num_lanes || m->persistent < 0 || memory_used(m) > m->capacity)
        bug("sum(P) %lld + sum(lanes) %lld (counted %lld) on a device of %lld bytes",
            (long long)m->persistent, (long long)m->in_lanes, (long long)sum, (long long)m->capacity);
}
