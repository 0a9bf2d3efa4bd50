import { type ErrorBody, type ErrorCode, type FieldProblem, statusOf, wordsOf } from '@berth/contract'

interface Particulars {
  /** Words for the user; the table's own when left out. */
  words?: string
  field?: string
  details?: FieldProblem[]
  permission?: string
  /** For the log only. */
  cause?: unknown
  retryAfterSeconds?: number
}

/** An error that has a status and public words. Whatever else is thrown becomes `internal` and says nothing of its cause. */
export class Failure extends Error {
  readonly code: ErrorCode
  readonly particulars: Particulars

  constructor(code: ErrorCode, particulars: Particulars = {}) {
    super(particulars.words ?? wordsOf(code), { cause: particulars.cause })
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

/** A rule that no schema can tell: the same answer as a schema's own refusal. */
export function refuse(field: string, words: string): never {
  throw new Failure('validation_failed', { words: `${field}: ${words}`, field, details: [{ field, message: words }] })
}
