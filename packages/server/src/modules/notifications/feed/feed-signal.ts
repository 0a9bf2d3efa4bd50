/** News for open feeds. One signal an announcement, however many people it reaches: each feed looks up its own part. */
export type FeedSignal = { announced: string } | { delivered: string; userId: string } | { seen: string; userId: string }

export const feedTopic = (organizationId: string) => `notifications:${organizationId}`
