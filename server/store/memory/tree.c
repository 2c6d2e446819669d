#include "server/store/memory/tree.h"
#include <stddef.h>
#include "common/base/err.h"

/* Below `node`, what sorts before it goes to *left and the rest to *right. */
static void split(struct tree_node *tree, const struct tree_node *node, tree_compare compare, const void *ctx,
                  struct tree_node **left, struct tree_node **right)
{
    while (tree) {
        if (compare(ctx, tree, node) < 0) {
            *left = tree;
            left = &tree->right;
            tree = tree->right;
        } else {
            *right = tree;
            right = &tree->left;
            tree = tree->left;
        }
    }
    *left = *right = NULL;
}

void tree_insert(struct tree_node **root, struct tree_node *node, tree_compare compare, const void *ctx)
{
    while (*root && (*root)->priority >= node->priority)
        root = compare(ctx, node, *root) < 0 ? &(*root)->left : &(*root)->right;
    split(*root, node, compare, ctx, &node->left, &node->right);
    *root = node;
}

static struct tree_node *merge(struct tree_node *left, struct tree_node *right)
{
    struct tree_node *merged = NULL, **end = &merged;
    while (left && right) {
        if (left->priority >= right->priority) {
            *end = left;
            end = &left->right;
            left = left->right;
        } else {
            *end = right;
            end = &right->left;
            right = right->left;
        }
    }
    *end = left ? left : right;
    return merged;
}

void tree_remove(struct tree_node **root, struct tree_node *node, tree_compare compare, const void *ctx)
{
    while (*root && *root != node)
        root = compare(ctx, node, *root) < 0 ? &(*root)->left : &(*root)->right;
    if (!*root)
        bug("a row is missing in its index");
    *root = merge(node->left, node->right);
}

struct tree_node *tree_find(struct tree_node *root, tree_place place, const void *ctx)
{
    while (root) {
        int c = place(ctx, root);
        if (c == 0)
            return root;
        root = c < 0 ? root->right : root->left;
    }
    return NULL;
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
