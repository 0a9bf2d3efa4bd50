/**
 * Node flags of a server. V8 enlarges the space for short-lived objects to as much as 130 MB and never gives it back; 8 MB cost no more
 * processor time.
 */
export const serverFlags = ['--max-semi-space-size=8']

/**
 * glibc gives every thread that allocates its own pools, up to eight a core: two are enough for the threads that compress and hash. It
 * also learns to keep large blocks that were freed, between others that are in use: with a fixed threshold they go back at once.
 */
export const serverEnv = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' }
