import type { DestinationKind } from '@berth/contract'
import { isThisMachineByName } from '../../../drivers/web-request/own-addresses.ts'
import type { DestinationRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import { changedAddress, type StoredConfig } from './destination-config.ts'

/**
 * Refuses a destination on this machine unless an operator created it. Resolved addresses are checked again at each connection.
 */
export function checkLocalAddress(kind: DestinationKind, { config }: StoredConfig, isOperator: boolean): 0 | 1 {
  if (isOperator) return 1
  const [field, host] = kind === 's3' ? ['endpoint', hostOf(config.endpoint)] : ['host', config.host]
  if (typeof host === 'string' && isThisMachineByName(host))
    fail('forbidden', {
      field: `config.${field}`,
      message: `${host} is this machine. Only an operator of the instance can add a destination there: an owner or admin of the organisation created at set-up.`,
    })
  return 0
}

/** The flag after a change: a destination that a member points elsewhere is no longer the one an operator approved. */
export const recheckLocalAddress = (
  row: Pick<DestinationRow, 'kind' | 'mayBeHere'>,
  before: StoredConfig,
  after: StoredConfig,
  isOperator: boolean,
): 0 | 1 =>
  isOperator || row.mayBeHere === 0 || changedAddress(row.kind, before, after).length > 0
    ? checkLocalAddress(row.kind, after, isOperator)
    : 1

const hostOf = (endpoint: unknown): string | undefined =>
  typeof endpoint === 'string' ? URL.parse(endpoint)?.hostname : undefined
