import { errorMessage } from '../../platform/error-message.ts'

/** The Docker engine gave no answer: unreachable, timed out, or permission denied. Tenants read the message, so it names no path. */
export class EngineAway extends Error {
  override readonly name = 'EngineAway'
  /** The same with paths and settings of the machine, for operators. */
  readonly operatorMessage: string

  constructor(message: string, { operatorMessage = message, ...options }: ErrorOptions & { operatorMessage?: string } = {}) {
    super(message, options)
    this.operatorMessage = operatorMessage
  }
}

/** Any error in words for operators. */
export const operatorText = (error: unknown): string =>
  error instanceof EngineAway ? error.operatorMessage : errorMessage(error)
