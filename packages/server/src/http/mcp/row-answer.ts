import type { ErrorBody } from '@berth/contract'

/** The response of a row's route. */
export interface RowAnswer {
  status: number
  text: string
  error?: Partial<ErrorBody>
}
