import { errorMessage } from '../../platform/error-message.ts'

/** The Docker engine did not respond: unreachable, timed out, or permission denied. Tenants see the message, so it has no paths. */
export class EngineUnreachable extends Error {
  override readonly name = 'EngineUnreachable'
  /** The same for operators, with paths and settings of the machine. */
  readonly operatorMessage: string

  constructor(message: string, { operatorMessage = message, ...options }: ErrorOptions & { operatorMessage?: string } = {}) {
    super(message, options)
    this.operatorMessage = operatorMessage
  }
}

/** Message of any error for operators. */
export const operatorText = (error: unknown): string =>
  error instanceof EngineUnreachable ? error.operatorMessage : errorMessage(error)
