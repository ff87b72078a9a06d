/* arena.c - memory for many small objects that are allocated one after another and freed together.
 *
 * Thread: its owner's. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { ARENA_BLOCK_SIZE = 32 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* of `bytes` */
    alignas(max_align_t) char bytes[];
};

/* An object larger than a usual block gets a block of its own, behind the current one. */
static void *arena_grow(struct arena *arena, size_t size)
{
    size_t most = size > ARENA_BLOCK_SIZE ? size : ARENA_BLOCK_SIZE;
    struct arena_block *block = malloc(sizeof(*block) + most);

    if (block == NULL) {
        return NULL;
    }
    block->size = most;
    if (size > ARENA_BLOCK_SIZE && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
        return block->bytes;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = size;
    return block->bytes;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t rounded = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct arena_block *block = arena->blocks;

    if (rounded < size || rounded > SIZE_MAX - sizeof(*block)) {
        return NULL;
    }
    if (block == NULL || block->size - arena->used < rounded) {
        return arena_grow(arena, rounded);
    }
    void *thing = block->bytes + arena->used;
    arena->used += rounded;
    return thing;
}

static void arena_free_blocks(struct arena_block *block)
{
    while (block != NULL) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void arena_clear(struct arena *arena)
{
    struct arena_block *newest = arena->blocks;

    if (newest == NULL || newest->size > ARENA_BLOCK_SIZE) {
        arena_fini(arena);
        return;
    }
    arena_free_blocks(newest->next);
    newest->next = NULL;
    arena->used = 0;
}

void arena_fini(struct arena *arena)
{
    arena_free_blocks(arena->blocks);
    *arena = (struct arena){.blocks = NULL};
}
