import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'

export interface EndPayload {
  id: string
}

export const arriveKind = sharedKind<EndPayload>('transfers.arrive')
/** Unique key per step: the previous step's job may not have ended when the next one is requested. */
export const arriveKey = (id: string, state: TransferEndRow['state']) => `${arriveKind.kind}:${id}:${state}`
