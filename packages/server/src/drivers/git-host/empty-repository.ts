import { GitHostError } from './git-host-error.ts'

/** An empty list where the host reports that the repository has no commit yet. */
export const noneIfEmpty = <Item>(list: Promise<Item[]>): Promise<Item[]> =>
  list.catch((error: unknown) => {
    if (error instanceof GitHostError && error.errorKind === 'empty') return []
    throw error
  })

/** Error handler for hosts that respond 404 for an empty repository: `isEmpty` asks the host about the repository itself. */
export const emptyInsteadOfMissing =
  (isEmpty: () => Promise<boolean>) =>
  async (error: unknown): Promise<never> => {
    if (error instanceof GitHostError && (error.errorKind === 'not_found' || error.errorKind === 'conflict') && (await isEmpty()))
      throw new GitHostError('empty', 'The repository is empty. Push a first commit.')
    throw error
  }
