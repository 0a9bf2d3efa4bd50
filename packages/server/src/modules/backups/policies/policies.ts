import type { BackupPayload, BackupPolicy, PolicyBody, PolicyChanges } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import { policyJson } from '../../../platform/db/json-columns/backups.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import { randomCode } from '../../access/index.ts'
import { findAnyProject, lockProject } from '../../projects/index.ts'
import { checkCommand } from '../content/command.ts'
import { knownContent } from '../content/known-content.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestinationOf } from '../destinations/destination-store.ts'
import * as store from '../policy-store.ts'
import { checkSchedule, nextRunAt, reschedule } from './policy-schedule.ts'
import { retirePolicy } from './retire.ts'

const maxPolicies = 100
/** Retention of a new policy that names neither a count nor days. */
const defaultRetainCount = 7
const defaultPayload: BackupPayload = { volumes: 'all', databases: 'auto', exclude: [] }

export async function createPolicy(project: ProjectRow, body: PolicyBody, caller: Caller, deps: BackupsDeps) {
  const schedule = { cronExpression: body.cronExpression ?? null, timezone: body.timezone ?? 'UTC' }
  checkSchedule(schedule, deps.clock.now())
  refuseCommands(body)
  await refuseUnknownContent(project, body, deps)
  const now = nowOf(deps)
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, project.id)
    await refuseDestination(transaction.db, project.organizationId, body.destinationId)
    if ((await store.countPolicies(transaction.db, project.id)) >= maxPolicies)
      fail('conflict', { message: `The project has ${maxPolicies} backup policies, the maximum. Delete one first.` })
    const policy = await store.insertPolicy(transaction.db, {
      id: newId('bkp'),
      organizationId: project.organizationId,
      projectId: project.id,
      serviceId: body.serviceId ?? null,
      destinationId: body.destinationId,
      enabled: body.enabled ?? true,
      ...schedule,
      ...retentionOf(body),
      payload: JSON.stringify({ ...defaultPayload, ...body.payload }),
      preCommand: body.preCommand ?? null,
      postCommand: body.postCommand ?? null,
      webhookEnabled: false,
      webhookTokenHash: null,
      proveEveryDays: body.proveEveryDays ?? null,
      beforeDeploy: body.beforeDeploy ?? false,
      lastProvenAt: null,
      createdBy: caller.userId,
      createdAt: now,
      updatedAt: now,
    })
    await reschedule(policy, transaction)
    return policy
  })
}

/** Changes only the allowed fields. The webhook token is generated here alone, and shown only in this response. */
export async function changePolicy(row: PolicyRow, changes: PolicyChanges, deps: BackupsDeps) {
  refuseCommands(changes)
  if (changes.payload) {
    const project = (await findAnyProject(deps.database.db, row.projectId)) ?? fail('not_found')
    await refuseUnknownContent(project, { payload: changes.payload }, deps)
  }
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, row.projectId)
    const current = (await store.findPolicyOf(transaction.db, row.organizationId, row.id)) ?? fail('not_found')
    const { webhookEnabled, enableWebhook = webhookEnabled, rotateWebhookToken, payload, ...fields } = changes
    const schedule = {
      cronExpression: fields.cronExpression === undefined ? current.cronExpression : fields.cronExpression,
      timezone: fields.timezone ?? current.timezone,
    }
    if (fields.cronExpression !== undefined || fields.timezone !== undefined) checkSchedule(schedule, deps.clock.now())
    if (fields.destinationId !== undefined) await refuseDestination(transaction.db, row.organizationId, fields.destinationId)
    // The policy has no column for it, because every backup is encrypted.
    const { encryption: _, ...columns } = fields
    const webhook = webhookAfter(current, { enableWebhook, rotateWebhookToken })
    const changed = await store.updatePolicy(transaction.db, row.id, {
      ...columns,
      ...schedule,
      ...(payload ? { payload: JSON.stringify({ ...policyJson.payload(current), ...payload }) } : {}),
      ...webhook.columns,
      updatedAt: nowOf(deps),
    })
    if (!changed) return fail('not_found')
    await reschedule(changed, transaction)
    return { policy: changed, ...(webhook.token ? { webhookToken: webhook.token } : {}) }
  })
}

interface WebhookOptions {
  enableWebhook: boolean | undefined
  rotateWebhookToken: boolean | undefined
}

/**
 * The webhook after a change. Enabling it generates a token if there is none; disabling it deletes the token, so there is none
 * to rotate.
 */
function webhookAfter(
  { webhookEnabled, webhookTokenHash }: PolicyRow,
  { enableWebhook, rotateWebhookToken }: WebhookOptions,
): { token?: string; columns: Partial<Pick<PolicyRow, 'webhookEnabled' | 'webhookTokenHash'>> } {
  const enabled = enableWebhook ?? webhookEnabled === 1
  if (!enabled && rotateWebhookToken)
    refuse('rotateWebhookToken', 'cannot be used while the webhook is off. Send enableWebhook: true, which creates a new token.')
  if (!enabled) return { columns: { webhookEnabled: 0, webhookTokenHash: null } }
  if (webhookTokenHash !== null && webhookEnabled === 1 && !rotateWebhookToken) return { columns: {} }
  const token = `bwh_${randomCode(40)}`
  return { token, columns: { webhookEnabled: 1, webhookTokenHash: hashToken(token) } }
}

/** Deletes a policy. Its runs stay, can be restored, and keep the policy's retention. */
export const deletePolicy = ({ id, organizationId, projectId }: PolicyRow, { database }: BackupsDeps): Promise<void> =>
  database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    const policy = (await store.findPolicyOf(transaction.db, organizationId, id)) ?? fail('not_found')
    await retirePolicy(policy, transaction)
    await store.removePolicy(transaction.db, policy.id)
  })

export async function showPolicies(rows: readonly PolicyRow[], deps: BackupsDeps): Promise<BackupPolicy[]> {
  const last = await store.lastRuns(
    deps.database.db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => show(row, last.get(row.id), deps.clock.now()))
}

export async function showPolicy(row: PolicyRow, deps: BackupsDeps): Promise<BackupPolicy> {
  const [shown] = await showPolicies([row], deps)
  return shown as BackupPolicy
}

function show(row: PolicyRow, last: store.LastRun | undefined, now: Date): BackupPolicy {
  return {
    id: row.id,
    projectId: row.projectId,
    serviceId: row.serviceId,
    destinationId: row.destinationId,
    enabled: row.enabled === 1,
    cronExpression: row.cronExpression,
    timezone: row.timezone,
    retainCount: row.retainCount,
    retainDays: row.retainDays,
    payload: policyJson.payload(row),
    preCommand: row.preCommand,
    postCommand: row.postCommand,
    encryption: true,
    webhookEnabled: row.webhookEnabled === 1,
    proveEveryDays: row.proveEveryDays,
    beforeDeploy: row.beforeDeploy === 1,
    createdBy: row.createdBy,
    createdAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
    lastRun: last
      ? {
          id: last.id,
          status: last.status,
          trigger: last.trigger,
          startedAt: isoOrNull(last.startedAt),
          finishedAt: isoOrNull(last.finishedAt),
        }
      : null,
    nextRunAt: nextRunAt(row, now)?.toISOString() ?? null,
    lastProvenAt: isoOrNull(row.lastProvenAt),
  }
}

async function refuseDestination(db: Db, organizationId: string, destinationId: string): Promise<void> {
  if (!(await findDestinationOf(db, organizationId, destinationId)))
    fail('not_found', {
      field: 'destinationId',
      message: 'This backup destination does not exist. Name one of the organisation.',
    })
}

/** An explicit count of null keeps every run. */
const retentionOf = ({ retainCount, retainDays }: PolicyBody): Pick<PolicyRow, 'retainCount' | 'retainDays'> => ({
  retainCount: retainCount === undefined && (retainDays ?? null) === null ? defaultRetainCount : (retainCount ?? null),
  retainDays: retainDays ?? null,
})

/**
 * Refuses a policy for an unknown service or volume, which would save nothing. Those of a Compose file are known once it was
 * deployed.
 */
async function refuseUnknownContent(
  project: ProjectRow,
  { serviceId, payload }: Pick<PolicyBody, 'serviceId' | 'payload'>,
  { data }: BackupsDeps,
): Promise<void> {
  const volumes = payload?.volumes === undefined || payload.volumes === 'all' ? [] : payload.volumes
  if (!serviceId && volumes.length === 0) return
  const knownItems = await knownContent(project, data)
  const listText = (names: ReadonlySet<string>) => (names.size > 0 ? `it has ${[...names].join(', ')}` : 'it has none yet')
  if (serviceId && !knownItems.services.has(serviceId))
    refuse('serviceId', `"${serviceId}" is not a service of the project: ${listText(knownItems.services)}`)
  const unknown = volumes.find((name) => !knownItems.volumes.has(name))
  if (unknown !== undefined)
    refuse('payload.volumes', `"${unknown}" is not a volume of the project: ${listText(knownItems.volumes)}`)
}

function refuseCommands(body: Pick<PolicyChanges, 'preCommand' | 'postCommand'>): void {
  for (const field of ['preCommand', 'postCommand'] as const) if (body[field]) checkCommand(field, body[field])
}
