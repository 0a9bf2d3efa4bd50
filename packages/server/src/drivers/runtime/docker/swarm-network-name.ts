/** Common prefix of the names of the swarm runtime's networks of an instance. */
export const swarmNetworkPrefix = (instance: string): string => `berth-${instance}-swarm`
