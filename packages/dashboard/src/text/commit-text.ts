import type { contract, ReplyOf } from '@berth/contract'
import { plural } from './sizes.ts'

type Status = ReplyOf<typeof contract.projects.commitStatus>['data']

/** Describes whether the newest commit is deployed. A failed lookup is never reported as "behind". */
export function commitText({ deployedCommit, remoteCommit, upToDate, behindBy, reason }: Status): string {
  if (upToDate === null || !remoteCommit) return reason ?? 'the remote is unreachable'
  if (!deployedCommit) return 'nothing is deployed yet'
  if (upToDate) return 'up to date'
  return behindBy === null ? 'the branch has newer commits' : `${plural(behindBy, 'commit')} behind`
}
