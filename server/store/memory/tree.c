#include "server/store/memory/tree.h"
#include <stddef.h>

static struct tree_node *next_of(const struct tree_node *node)
{
    struct tree_node *n = node->right;
    if (n) {
        while (n->left)
            n = n->left;
        return n;
    }
    for (n = node->parent; n && n->right == node; n = n->parent)
        node = n;
    return n;
}

static struct tree_node *finger_of(struct tree *t, unsigned i)
{
    return atomic_load_explicit(&t->fingers[i % TREE_FINGERS], memory_order_relaxed);
}

static void set_finger(struct tree *t, unsigned i, struct tree_node *node)
{
    atomic_store_explicit(&t->fingers[i % TREE_FINGERS], node, memory_order_relaxed);
    atomic_store_explicit(&t->last, i, memory_order_relaxed);
}

/* Where `old` hung, `now` (or nothing) hangs. */
static void replace(struct tree *t, const struct tree_node *old, struct tree_node *now)
{
    struct tree_node *parent = old->parent;
    if (!parent)
        t->root = now;
    else if (parent->left == old)
        parent->left = now;
    else
        parent->right = now;
    if (now)
        now->parent = parent;
}

/* The node takes its parent's place. */
static void rotate_up(struct tree *t, struct tree_node *node)
{
    struct tree_node *parent = node->parent, *moves;
    replace(t, parent, node);
    if (parent->left == node) {
        moves = parent->left = node->right;
        node->right = parent;
    } else {
        moves = parent->right = node->left;
        node->left = parent;
    }
    parent->parent = node;
    if (moves)
        moves->parent = parent;
}

static void hang(struct tree_node *parent, struct tree_node *node, bool is_left)
{
    node->parent = parent;
    if (is_left)
        parent->left = node;
    else
        parent->right = node;
}

/* Right behind the finger, if it belongs there. */
static bool hang_at_finger(struct tree_node *finger, struct tree_node *node, tree_compare compare,
                           const void *ctx)
{
    if (!finger || compare(ctx, finger, node) > 0)
        return false;
    struct tree_node *next = next_of(finger);
    if (next && compare(ctx, node, next) > 0)
        return false;
    if (next && finger->right)
        hang(next, node, true); /* the leftmost one there */
    else
        hang(finger, node, false);
    return true;
}

static void hang_below_root(struct tree *t, struct tree_node *node, tree_compare compare, const void *ctx)
{
    struct tree_node *parent = t->root;
    if (!parent) {
        t->root = node;
        return;
    }
    for (;;) {
        bool is_left = compare(ctx, node, parent) < 0;
        struct tree_node *below = is_left ? parent->left : parent->right;
        if (!below) {
            hang(parent, node, is_left);
            return;
        }
        parent = below;
    }
}

void tree_insert(struct tree *t, struct tree_node *node, tree_compare compare, const void *ctx)
{
    unsigned last = atomic_load_explicit(&t->last, memory_order_relaxed), i = last;
    node->left = node->right = node->parent = NULL;
    while (i - last < TREE_FINGERS && !hang_at_finger(finger_of(t, i), node, compare, ctx))
        i++;
    if (i - last == TREE_FINGERS) {
        hang_below_root(t, node, compare, ctx);
        i--; /* the one that was of use longest ago */
    }
    while (node->parent && node->parent->priority < node->priority)
        rotate_up(t, node);
    set_finger(t, i, node);
}

static struct tree_node *merge(struct tree_node *left, struct tree_node *right)
{
    struct tree_node *merged = NULL, **end = &merged, *parent = NULL;
    while (left && right) {
        bool is_left = left->priority >= right->priority;
        struct tree_node *upper = is_left ? left : right;
        *end = upper;
        upper->parent = parent;
        parent = upper;
        end = is_left ? &upper->right : &upper->left;
        if (is_left)
            left = upper->right;
        else
            right = upper->left;
    }
    *end = left ? left : right;
    if (*end)
        (*end)->parent = parent;
    return merged;
}

void tree_remove(struct tree *t, struct tree_node *node)
{
    for (unsigned i = 0; i < TREE_FINGERS; i++)
        if (finger_of(t, i) == node)
            atomic_store_explicit(&t->fingers[i], next_of(node), memory_order_relaxed);
    replace(t, node, merge(node->left, node->right));
}

/* The finger or the node behind it, if one of them is in the range. *out_is_known: otherwise nothing is,
 * because it would stand between the two. */
static struct tree_node *find_at_finger(struct tree_node *finger, tree_place place, const void *ctx,
                                        bool *out_is_known)
{
    int c = finger ? place(ctx, finger) : 1;
    *out_is_known = c == 0;
    if (c >= 0)
        return c == 0 ? finger : NULL;
    struct tree_node *next = next_of(finger);
    c = next ? place(ctx, next) : 1;
    *out_is_known = c >= 0;
    return c == 0 ? next : NULL;
}

struct tree_node *tree_find(struct tree *t, tree_place place, const void *ctx)
{
    unsigned last = atomic_load_explicit(&t->last, memory_order_relaxed), i = last;
    struct tree_node *node = NULL;
    for (bool is_known = false; i - last < TREE_FINGERS && !is_known; i += !is_known)
        node = find_at_finger(finger_of(t, i), place, ctx, &is_known);
    if (i - last == TREE_FINGERS) {
        int c;
        for (node = t->root; node && (c = place(ctx, node)) != 0;)
            node = c < 0 ? node->right : node->left;
        i--;
    }
    if (node)
        set_finger(t, i, node);
    return node;
}

/* Depth is logarithmic: priorities are random. */
bool tree_walk(struct tree_node *root, bool is_backwards, tree_place place, const void *place_ctx,
               tree_visit visit, void *visit_ctx)
{
    while (root) {
        int c = place(place_ctx, root);
        struct tree_node *first = is_backwards ? root->right : root->left;
        struct tree_node *second = is_backwards ? root->left : root->right;
        bool has_first = is_backwards ? c <= 0 : c >= 0;
        bool has_second = is_backwards ? c >= 0 : c <= 0;
        if (has_first && !tree_walk(first, is_backwards, place, place_ctx, visit, visit_ctx))
            return false;
        if (c == 0 && !visit(visit_ctx, root))
            return false;
        root = has_second ? second : NULL;
    }
    return true;
}
