import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { confirm, isCancel } from '@clack/prompts'
import type { connect } from '../../credentials.ts'
import type { Output } from '../../output.ts'
import { link } from './link.ts'
import { originOf } from './remote.ts'

/** Offers to deploy pushes automatically: after the first deploy, at a terminal, of a folder cloned from a connected git host. */
export async function offerLink(
  client: ReturnType<typeof connect>,
  folder: string,
  projectId: string,
  print: Output,
): Promise<void> {
  const remote = await originOf(folder)
  if (!remote) return
  const found = await repositoryAt(client, remote)
  if (found === 'not connected') return print.note('to deploy on every push: berth git connect, then berth git link')
  if (!found) return
  const message = `This folder is a clone of ${found}. Deploy every push automatically?`
  const answer = await confirm({ message })
  if (isCancel(answer) || !answer) return print.note('later: berth git link')
  const { branch, problem } = await link(client, { projectId, ...remote, query: {} })
  if (problem) print.note(`warning: ${problem}`)
  print.note(`every push to ${branch} of ${found} will be deployed`)
}

/** Full name of the repository, if the connected git host is the one that the folder was cloned from. */
async function repositoryAt(
  client: ReturnType<typeof connect>,
  { host, owner, repo }: { host: string; owner: string; repo: string },
) {
  try {
    const { data } = await client.call(contract.gitHost.getRepository, { params: { owner, repo }, query: {} })
    const at = new URL(data.cloneUrl)
    return at.host === host || at.hostname === host ? data.fullName : null
  } catch (error) {
    if (error instanceof ApiError) return error.code === 'no_source' ? 'not connected' : null
    throw error
  }
}
