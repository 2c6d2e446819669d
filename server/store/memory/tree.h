/* An ordered set whose nodes lie in the caller's own structs, so inserting and removing cannot fail: a treap.
 * It remembers the nodes it last inserted or found: who goes through it in ascending order, or through a few
 * parts of it in turn, finds and inserts without a way down from the root. */
#ifndef FEDLANE_STORE_MEMORY_TREE_H
#define FEDLANE_STORE_MEMORY_TREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tree_node {
    struct tree_node *left, *right, *parent;
    uint32_t priority; /* set by the caller to well-mixed bits; equal ones do no harm */
};
#define TREE_FINGERS 4
struct tree {
    struct tree_node *root;
    /* Finding moves them, and several threads may find at a time. */
    struct tree_node *_Atomic fingers[TREE_FINGERS];
    atomic_uint last; /* counts on to the finger that was of use */
};
/* < 0, 0, > 0. No two nodes of a tree may be equal. */
typedef int (*tree_compare)(const void *ctx, const struct tree_node *a, const struct tree_node *b);
/* < 0: the node is before the range, 0: in it, > 0: behind it. */
typedef int (*tree_place)(const void *ctx, const struct tree_node *node);
typedef bool (*tree_visit)(void *ctx, struct tree_node *node); /* false: stop */

void tree_insert(struct tree *t, struct tree_node *node, tree_compare compare, const void *ctx);
/* The node must be in the tree. */
void tree_remove(struct tree *t, struct tree_node *node);
/* Any node of the range, or NULL. */
struct tree_node *tree_find(struct tree *t, tree_place place, const void *ctx);
/* Visits the range in order, or backwards. False when a visit stopped it. */
bool tree_walk(struct tree_node *root, bool is_backwards, tree_place place, const void *place_ctx,
               tree_visit visit, void *visit_ctx);

#endif
