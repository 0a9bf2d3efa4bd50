import { setTimeout as pause } from 'node:timers/promises'
import { type ErrorCode, errors, type Project, type Transfer } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import { cloudTransferJson } from '../../../platform/db/json-columns/transfers.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { CloudTransferRow } from '../../../platform/db/tables/transfers.ts'
import { Failure, fail } from '../../../platform/failure.ts'
import { accountOf, type Link, requestCloud, requireSuccess } from '../../cloud/index.ts'
import type { CoordinatorDeps } from '../deps.ts'
import { findTransfer, insertTransfer, runningTransfer } from '../rows/transfer-store.ts'
import { transferKind } from './transfer-job.ts'

type Direction = CloudTransferRow['direction']

export interface TransferRequest {
  projectId: string
  /** Undefined where the project is not on this instance. */
  project: ProjectRow | undefined
  direction: Direction
  /** False: volumes stay behind. */
  withData: boolean
  caller: Caller
}

export interface Transferred {
  projectId: string
  location: 'local' | 'cloud'
  /** Parts of the project that were not transferred, or do not work at the target. */
  warnings: string[]
}

/** Starts a transfer, or joins the running one, and responds when it has ended. */
export async function startTransfer(request: TransferRequest, deps: CoordinatorDeps): Promise<Transferred> {
  const { projectId, project, direction, caller } = request
  const link = (await deps.cloud.links.of(caller.organizationId)) ?? fail(project ? 'cloud_not_linked' : 'not_found')
  const running = await runningTransfer(deps.database.db, caller.organizationId, projectId)
  if (running?.direction === direction) return waitUntilEnded(running.id, deps)
  if (running)
    fail('work_in_progress', {
      message: `The project is being transferred in the other direction (${running.id}). Wait until that transfer has ended.`,
    })
  const name = await nameOf(request, link, deps)
  return waitUntilEnded(await recordTransfer(request, name, link, deps), deps)
}

async function nameOf(
  { projectId, project, direction }: TransferRequest,
  { address }: Link,
  { cloud: { api } }: CoordinatorDeps,
): Promise<string> {
  if (project && direction === 'to_self_hosted') fail('already_there', { message: 'The project is already on this instance' })
  if (project) {
    // Detects an unreachable cloud before anything begins; otherwise the started transfer would have to be rolled back.
    await requestCloud(api, address, { method: 'GET', path: '/api/auth/session' })
    return project.name
  }
  const response = await requestCloud(api, address, { method: 'GET', path: `/api/projects/${encodeURIComponent(projectId)}` })
  if (response.status === 404) fail('not_found')
  const { name } = requireSuccess(response) as Project
  if (direction === 'to_cloud') fail('already_there', { message: 'The project is already in the cloud' })
  return String(name)
}

const recordTransfer = (
  { projectId, direction, withData, caller: { organizationId, userId } }: TransferRequest,
  name: string,
  link: Link,
  deps: CoordinatorDeps,
): Promise<string> =>
  deps.database.transaction(async (transaction) => {
    await transaction.lock(`transfer:${projectId}`)
    const running = await runningTransfer(transaction.db, organizationId, projectId)
    if (running) return running.direction === direction ? running.id : fail('work_in_progress')
    const id = newId('trf')
    await insertTransfer(transaction.db, {
      ...{ id, organizationId, projectId, projectName: name, direction, cloud: accountOf(link.row), withData, phase: 'packing' },
      ...{ bytesDone: 0, warnings: '[]', createdBy: userId, createdAt: deps.clock.now().getTime() },
    })
    await transaction.enqueue(transferKind.of({ organizationId }), { id }, { uniqueKey: `${transferKind.kind}:${id}` })
    return id
  })

/** Maximum wait for the rollback, which may need an unreachable cloud. Then the client gets the reason of the failure. */
const rollbackMs = 10_000

async function waitUntilEnded(id: string, { database, retryLimits }: CoordinatorDeps): Promise<Transferred> {
  let rollbackSince: number | undefined
  for (;;) {
    const row = (await findTransfer(database.db, id)) ?? fail('not_found')
    if (row.phase === 'done') {
      const location = row.direction === 'to_cloud' ? 'cloud' : 'local'
      return { projectId: row.projectId, location, warnings: cloudTransferJson.warnings(row) }
    }
    if (row.phase === 'undoing') rollbackSince ??= Date.now()
    if (row.phase === 'failed' || (rollbackSince !== undefined && Date.now() - rollbackSince > rollbackMs)) throw failureOf(row)
    await pause(retryLimits.pollMs)
  }
}

function failureOf({ errorCode, errorMessage }: CloudTransferRow): Failure {
  const code: ErrorCode = errorCode !== null && errorCode in errors ? (errorCode as ErrorCode) : 'transfer_failed'
  return new Failure(code === 'internal' ? 'transfer_failed' : code, { message: `${errorMessage} (nothing was changed)` })
}

export const showTransfer = (row: CloudTransferRow): Transfer => ({
  id: row.id,
  projectId: row.projectId,
  direction: row.direction,
  withData: row.withData === 1,
  phase: row.phase,
  bytesDone: Number(row.bytesDone),
  bytesTotal: row.bytesTotal === null ? null : Number(row.bytesTotal),
  error: row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? '' },
  warnings: cloudTransferJson.warnings(row),
  createdBy: row.createdBy,
  createdAt: iso(row.createdAt),
  finishedAt: isoOrNull(row.finishedAt),
})
