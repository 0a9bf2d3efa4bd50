import type { DestinationKind } from '@berth/contract'
import { isThisMachineByName } from '../../../drivers/web-request/own-addresses.ts'
import type { DestinationRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import { changedAddress, type StoredConfig } from './destination-config.ts'

/** Refuses a destination on this machine that an operator did not name. What a name means is judged anew at each connection. */
export function mayBeHere(kind: DestinationKind, { config }: StoredConfig, isOperator: boolean): 0 | 1 {
  if (isOperator) return 1
  const [field, host] = kind === 's3' ? ['endpoint', hostOf(config.endpoint)] : ['host', config.host]
  if (typeof host === 'string' && isThisMachineByName(host))
    fail('forbidden', {
      field: `config.${field}`,
      words: `${host} is this machine: a destination there needs an operator of the instance, an owner or admin of the organisation made at set-up`,
    })
  return 0
}

/** After a change: one that a member moves is no longer where an operator put it. */
export const mayStillBeHere = (
  row: Pick<DestinationRow, 'kind' | 'mayBeHere'>,
  before: StoredConfig,
  after: StoredConfig,
  isOperator: boolean,
): 0 | 1 =>
  isOperator || row.mayBeHere === 0 || changedAddress(row.kind, before, after).length > 0
    ? mayBeHere(row.kind, after, isOperator)
    : 1

const hostOf = (endpoint: unknown): string | undefined =>
  typeof endpoint === 'string' ? URL.parse(endpoint)?.hostname : undefined
