import { type contract, limits } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { writeAuditRecord } from '../../../platform/db/write-record.ts'
import { fail } from '../../../platform/failure.ts'
import { hasSeveralOrganizations } from '../../../platform/jobs/owners.ts'
import { requireEnvironment } from '../../projects/index.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { findInstance } from './find-instance.ts'
import { OpenExecs } from './open-execs.ts'
import { runExec } from './run-exec.ts'

type Rows = Pick<typeof contract.deployments, 'exec' | 'execInput'>

export function execHandlers(deps: DeploymentsDeps): Handlers<Rows> {
  const execs = new OpenExecs()
  return {
    exec: async ({ body }, { project, caller, begin }) => {
      const { service, input = false } = body
      const { slug: environment } = await requireEnvironment(deps.database.db, project.id, body.environment ?? 'production')
      const target = await findInstance({ projectId: project.id, environment, service }, deps)
      const { organizationId, id: projectId } = project
      const isShared = await hasSeveralOrganizations(deps.database.db)
      const exec = execs.open({ organizationId, projectId, userId: caller.userId, input, isShared })
      try {
        await runExec(exec, target, body, await begin(), deps)
      } finally {
        execs.close(exec)
      }
      return undefined
    },
    execInput: async ({ params, upload }, { project, caller, audit }) => {
      audit({ objectId: project.id, changes: { execId: params.execId } })
      const exec = execs.find(params.execId, { projectId: project.id, userId: caller.userId })
      if (!exec?.input) return fail('not_found', { message: 'The command does not exist, has ended, or reads no input' })
      if (exec.input.hasSource) return fail('conflict', { message: 'Another client already sends input to this command' })
      await writeAuditRecord()
      await exec.input.feed(limitInput(upload))
      return undefined
    },
  }
}

async function* limitInput(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let receivedBytes = 0
  for await (const chunk of chunks) {
    receivedBytes += chunk.length
    if (receivedBytes > limits.execInputBytes)
      fail('payload_too_large', { message: `The input of a command is limited to ${limits.execInputBytes / 1024 ** 3} GB` })
    yield chunk
  }
}
