import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'

export interface EndPayload {
  id: string
}

export const arriveKind = sharedKind<EndPayload>('transfers.arrive')
/** A key a step: the job of the step before may not have ended yet when the next one is asked for. */
export const arriveKey = (id: string, state: TransferEndRow['state']) => `${arriveKind.kind}:${id}:${state}`
