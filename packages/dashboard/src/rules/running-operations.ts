export type Operations = readonly { kind: string; status: string }[]

/** The operations that a deletion cancels first; null if there are none. */
export const cancelledText = (operations: Operations): string | null =>
  operations.length === 0
    ? null
    : `${operations.map(({ kind, status }) => `${kind} (${status})`).join(', ')}: ${operations.length === 1 ? 'it is' : 'they are'} cancelled first.`

/** Query of a deletion. It cancels running operations only after the user has seen the warning about them. */
export const deletionQuery = (deleteVolumes: boolean, operations: Operations) => ({
  deleteVolumes,
  ...(operations.length > 0 ? { force: true } : {}),
})
