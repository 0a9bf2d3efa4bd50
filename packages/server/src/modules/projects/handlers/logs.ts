import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { ProjectsDeps } from '../deps.ts'
import { defaultTail, requestFilter, resumeAfter, runtimeFilter, showLine, showRequest } from '../logs/logs.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of runtime logs and request logs. */
export function logHandlers(deps: ProjectsDeps) {
  const { logStore, streamTokens } = deps
  return {
    logs: async ({ query }, { project }) => {
      const { limit = defaultTail, tail = limit, since } = query
      const filter = await runtimeFilter(project, query, deps)
      const options = { limit: tail, filter, ...(since ? { since: new Date(since) } : {}) }
      return { data: (await logStore.tail(project.id, 'runtime', options)).map(showLine) }
    },
    streamLogs: async ({ query }, { project, stream }) => {
      const { limit = defaultTail, tail = limit, since } = query
      const start = { tail, ...(since ? { since: new Date(since) } : {}), ...resumeAfter(stream.lastEventId) }
      const options = { ...start, filter: await runtimeFilter(project, query, deps) }
      for await (const entry of logStore.follow(project.id, 'runtime', options, stream.abort))
        await stream.send('log', showLine(entry), entry.id)
      return undefined
    },
    recentRequests: async ({ query }, { project }) => {
      const { limit = 100 } = query
      const filter = await requestFilter(project, query, deps)
      return { data: (await logStore.tail(project.id, 'requests', { limit, filter })).map(showRequest) }
    },
    mintRequestStreamToken: async (_, { project, caller }) => {
      const url = `/api/projects/${project.id}/server-logs/stream`
      const { token, expiresAt } = await streamTokens.mint(url, caller)
      return { data: { token, url, expiresAt } }
    },
    streamRequests: async ({ query }, { project, stream }) => {
      const options = { ...resumeAfter(stream.lastEventId), filter: await requestFilter(project, query, deps) }
      for await (const entry of logStore.follow(project.id, 'requests', options, stream.abort))
        await stream.send('request', showRequest(entry), entry.id)
      return undefined
    },
  } satisfies Rows
}
