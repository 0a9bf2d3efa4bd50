/**
 * Node flags of a server. V8 enlarges the space for short-lived objects to as much as 130 MB and never gives it back; 8 MB cost no more
 * processor time.
 */
export const serverFlags = ['--max-semi-space-size=8']

/**
 * glibc gives every thread that allocates its own pools, up to eight a core, and seldom gives freed memory of them back. Two are
 * enough for the threads that compress and hash.
 */
export const serverEnv = { MALLOC_ARENA_MAX: '2' }
