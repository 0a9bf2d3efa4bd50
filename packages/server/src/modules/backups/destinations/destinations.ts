import type { BackupDestination, DestinationBody, DestinationChanges, DestinationConfig, FieldProblem } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { iso } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import { destinationJson } from '../../../platform/db/json-columns/backups.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { DestinationRow } from '../../../platform/db/tables/backups.ts'
import { isForeignKeyViolation } from '../../../platform/db/violations.ts'
import { fail } from '../../../platform/failure.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { checkLocalAddress, recheckLocalAddress } from './destination-address.ts'
import { type CheckedConfig, checkConfig, type StoredConfig } from './destination-config.ts'
import * as store from './destination-store.ts'

const maxDestinations = 200

export const destinationLock = (id: string) => `backups:destination:${id}`

export async function createDestination(body: DestinationBody, caller: Caller, deps: BackupsDeps) {
  const { organizationId } = caller
  const { db } = deps.database
  const stored = requireValid(checkConfig(body.kind, body.config, deps.settings))
  const mayBeHere = checkLocalAddress(body.kind, stored, await deps.isOperator(caller))
  if ((await store.countDestinations(db, organizationId)) >= maxDestinations)
    fail('conflict', { message: `There are already ${maxDestinations} destinations, the maximum. Delete one first.` })
  // The key is generated now, while a user sets up backups: the log says where it is.
  await deps.archives()
  const [now, id] = [nowOf(deps), newId('bkd')]
  return store.insertDestination(db, {
    id,
    organizationId,
    name: body.name.trim(),
    kind: body.kind,
    ...sealConfig(id, stored, deps),
    mayBeHere,
    lastCheck: null,
    createdAt: now,
    updatedAt: now,
  })
}

/** Warns about other destinations of the organisation with the same location: runs at both are not a second copy. */
export async function sameLocationWarnings(
  { id, organizationId, kind, config }: DestinationRow,
  deps: BackupsDeps,
): Promise<string[]> {
  const others = (await store.allDestinations(deps.database.db, organizationId)).filter((other) => other.id !== id)
  const location = locationOf({ id, kind, config })
  return others
    .filter((other) => locationOf(other) === location)
    .map(
      ({ id: otherId, name }) =>
        `The destination "${name}" (${otherId}) uses the same storage, so this one is not a second copy.`,
    )
}

/** Config fields that determine where the data is stored; the others determine how it is reached. */
const locationFields = ['path', 'endpoint', 'bucket', 'prefix', 'host', 'port'] as const

function locationOf(destination: Pick<DestinationRow, 'id' | 'kind' | 'config'>): string {
  const fields = destinationJson.config(destination)
  return JSON.stringify([destination.kind, ...locationFields.map((name) => fields[name] ?? null)])
}

/**
 * Checks the row inside the transaction. A local destination reads and writes this machine: only operators may change its
 * location.
 */
export async function changeDestination(row: DestinationRow, changes: DestinationChanges, caller: Caller, deps: BackupsDeps) {
  if (row.kind === 'local' && changes.config && !(await deps.isOperator(caller)))
    fail('forbidden', { field: 'config', message: 'Only an operator of the instance can change the path of a local destination' })
  const isOperator = await deps.isOperator(caller)
  return deps.database.transaction(async ({ db, lock }) => {
    await lock(destinationLock(row.id))
    const current = (await store.findDestinationOf(db, row.organizationId, row.id)) ?? fail('not_found')
    const before = openConfig(current, deps)
    const stored = changes.config && requireValid(checkConfig(row.kind, changes.config, deps.settings, before))
    return store.updateDestination(db, row.id, {
      ...(changes.name === undefined ? {} : { name: changes.name.trim() }),
      // The result of an earlier check does not apply to the new location.
      ...(stored
        ? {
            ...sealConfig(row.id, stored, deps),
            mayBeHere: recheckLocalAddress(current, before, stored, isOperator),
            lastCheck: null,
          }
        : {}),
      updatedAt: nowOf(deps),
    })
  })
}

/**
 * Deletes a destination. Its runs stay listed and their objects stay stored, but cannot be restored from here. Refused while
 * there are restorable runs, unless forced.
 */
export async function deleteDestination(
  { id }: DestinationRow,
  { force }: { force: boolean },
  { database }: BackupsDeps,
): Promise<void> {
  try {
    await database.transaction(async ({ db, lock }) => {
      await lock(destinationLock(id))
      if (await store.isUsed(db, id)) fail('destination_in_use')
      if (await store.hasUnfinishedWork(db, id))
        fail('destination_in_use', { message: 'A backup run or restore is using this destination. Wait until it ends.' })
      const runs = force ? 0 : await store.countRestorable(db, id)
      if (runs > 0) fail('destination_in_use', { message: storedRunsMessage(runs) })
      await store.removeDestination(db, id)
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) fail('destination_in_use', { cause: error })
    throw error
  }
}

const storedRunsMessage = (runs: number) =>
  `This destination stores ${runs === 1 ? '1 backup run' : `${runs} backup runs`} that can still be restored and would be lost. ` +
  'Delete it with ?force=true if they are not needed.'

/** The config with its decrypted secrets; from then on they are redacted from the log. */
export function openConfig(row: DestinationRow, { secretBox, scrubber }: BackupsDeps): StoredConfig {
  const { id, secrets } = row
  const opened: StoredConfig['secrets'] = secrets
    ? destinationJson.secrets(secretBox.open(secrets, sealedFor.destinationSecrets(id)).reveal(), id)
    : {}
  scrubber.register(...Object.values(opened))
  return { config: destinationJson.config(row), secrets: opened }
}

export function sealConfig(id: string, { config, secrets }: StoredConfig, { secretBox, scrubber }: BackupsDeps) {
  scrubber.register(...Object.values(secrets))
  const text = JSON.stringify(secrets)
  return {
    config: JSON.stringify(config),
    secrets: text === '{}' ? null : secretBox.seal(text, sealedFor.destinationSecrets(id)),
  }
}

export function showDestination(row: DestinationRow, deps: BackupsDeps): BackupDestination {
  const { config, secrets } = openConfig(row, deps)
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    config: { ...(config as DestinationConfig), ...hasSecrets(row.kind, secrets) },
    lastCheck: destinationJson.lastCheck(row),
    createdAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
  }
}

function hasSecrets(kind: DestinationRow['kind'], secrets: StoredConfig['secrets']): Partial<DestinationConfig> {
  if (kind === 's3') return { hasSecretAccessKey: secrets.secretAccessKey !== undefined }
  if (kind === 'sftp') return { hasPassword: secrets.password !== undefined, hasPrivateKey: secrets.privateKey !== undefined }
  return {}
}

const requireValid = (checked: CheckedConfig): StoredConfig => (checked.ok ? checked.stored : refuseConfig(checked.problems))

function refuseConfig(details: FieldProblem[]): never {
  const [first = { field: 'config', message: 'is not valid' }] = details
  return fail('validation_failed', { message: `${first.field}: ${first.message}`, field: first.field, details })
}
