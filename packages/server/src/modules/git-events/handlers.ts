import type { contract, PullRequest } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { iso } from '../../platform/db/columns.ts'
import type { PullRequestRow } from '../../platform/db/tables/git-events.ts'
import { fail } from '../../platform/failure.ts'
import { approve } from './approve.ts'
import type { GitEventsDeps, ProjectRow } from './deps.ts'
import { receive } from './receive.ts'
import { createRecorder } from './record-deliveries.ts'
import { listPullRequests } from './store.ts'

export const gitEventsHandlers = (deps: GitEventsDeps): Handlers<typeof contract.gitEvents> => ({
  receiveWebhook: webhookHandler(deps),
  listPullRequests: async (_, { project }) => {
    const rows = await listPullRequests(deps.database.db, project.id)
    return { data: rows.map((row) => show(row, project, deps)) }
  },
  approvePullRequest: async ({ params, body }, { project, caller }) => {
    const number = /^\d{1,9}$/.test(params.number) ? Number(params.number) : fail('not_found')
    const row = await approve(project, number, { ...body, by: caller.email }, deps)
    return { data: show(row, project, deps) }
  },
})

function webhookHandler(deps: GitEventsDeps): Handlers<typeof contract.gitEvents>['receiveWebhook'] {
  const record = createRecorder(deps)
  return async ({ params, query, rawBody }, { headers }) => {
    const { provider } = params
    const received = { provider, hook: query.hook ?? null, headers, rawBody: rawBody ?? Buffer.alloc(0) }
    return { data: await receive(received, record, deps) }
  }
}

function show(row: PullRequestRow, project: ProjectRow, deps: GitEventsDeps): PullRequest {
  const { number, title, author, branch, commit, state, reason, approvedBy, approvedCommit } = row
  const isActive = state === 'active'
  return {
    ...{ number, title, author, branch, commit, state, reason, approvedBy, approvedCommit },
    fork: row.fromFork === 1,
    environment: isActive ? row.environment : null,
    url: isActive ? deps.projects.environmentUrl(project, row.environment) : null,
    updatedAt: iso(row.updatedAt),
  }
}
