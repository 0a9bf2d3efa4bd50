import { type ErrorBody, type ErrorCode, type FieldProblem, messageOf, statusOf } from '@berth/contract'

interface Particulars {
  /** Message for the user; default: the message of the error code. */
  message?: string
  field?: string
  details?: FieldProblem[]
  permission?: string
  /** Logged, never sent to the client. */
  cause?: unknown
  retryAfterSeconds?: number
}

/** An error with a status and a public message. Any other thrown error becomes `internal`, without its cause. */
export class Failure extends Error {
  readonly code: ErrorCode
  readonly particulars: Particulars

  constructor(code: ErrorCode, particulars: Particulars = {}) {
    super(particulars.message ?? messageOf(code), { cause: particulars.cause })
    this.name = 'Failure'
    this.code = code
    this.particulars = particulars
  }

  get status(): number {
    return statusOf(this.code)
  }

  body(): ErrorBody {
    const { field, details, permission } = this.particulars
    const body: ErrorBody = { error: this.message, code: this.code }
    if (field) body.field = field
    if (details?.length) body.details = details
    if (permission) body.permission = permission
    return body
  }
}

export function fail(code: ErrorCode, particulars?: Particulars): never {
  throw new Failure(code, particulars)
}

/** Rejects a value for a rule that a schema cannot express, with the same response as a schema error. */
export function refuse(field: string, text: string): never {
  throw new Failure('validation_failed', { message: `${field}: ${text}`, field, details: [{ field, message: text }] })
}
