import { type ErrorBody, type ErrorCode, type FieldProblem, messageOf, statusOf } from '@berth/contract'

interface FailureDetails {
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
  readonly options: FailureDetails

  constructor(code: ErrorCode, options: FailureDetails = {}) {
    super(options.message ?? messageOf(code), { cause: options.cause })
    this.name = 'Failure'
    this.code = code
    this.options = options
  }

  get status(): number {
    return statusOf(this.code)
  }

  body(): ErrorBody {
    const { field, details, permission } = this.options
    const body: ErrorBody = { error: this.message, code: this.code }
    if (field) body.field = field
    if (details?.length) body.details = details
    if (permission) body.permission = permission
    return body
  }
}

export function fail(code: ErrorCode, options?: FailureDetails): never {
  throw new Failure(code, options)
}

/** Rejects a value for a rule that a schema cannot express, with the same response as a schema error. */
export function refuse(field: string, text: string): never {
  throw new Failure('validation_failed', { message: `${field}: ${text}`, field, details: [{ field, message: text }] })
}
