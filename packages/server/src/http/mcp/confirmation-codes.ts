import { hash, randomBytes } from 'node:crypto'
import { constantTimeEqual } from '../../platform/secrets/token.ts'
import type { McpSettings } from './settings.ts'

/** A code is valid for five to ten minutes. */
const windowMs = 5 * 60_000
const maxUsedCodes = 10_000

/** The one call that a code confirms. */
export interface ConfirmedCall {
  tokenId: string
  tool: string
  arguments: Record<string, unknown>
  /** A code that a person repeats, or the state of a question that the client shows. */
  use: 'code' | 'question'
}

/**
 * Codes that confirm one call, with exactly these arguments, of one token. They are signed and not stored, so that any control plane
 * verifies them; each control plane accepts a code once.
 */
export class ConfirmationCodes {
  readonly #settings: Pick<McpSettings, 'now' | 'signer'>
  readonly #used = new Map<string, number>()

  constructor(settings: Pick<McpSettings, 'now' | 'signer'>) {
    this.#settings = settings
  }

  issue(call: ConfirmedCall): string {
    const nonce = letters(randomBytes(4))
    return `${nonce}-${this.#proof(call, nonce, this.#window())}`
  }

  /** Whether the code belongs to this call; it cannot be used again. */
  use(call: ConfirmedCall, given: unknown): boolean {
    if (typeof given !== 'string') return false
    const code = given.trim().toUpperCase()
    const [nonce = '', proof = ''] = code.split('-')
    const windows = [this.#window(), this.#window() - 1]
    if (!windows.some((window) => constantTimeEqual(proof, this.#proof(call, nonce, window)))) return false
    if (this.#used.has(code)) return false
    this.#remember(code)
    return true
  }

  #window(): number {
    return Math.floor(this.#settings.now() / windowMs)
  }

  #proof({ tokenId, tool, arguments: given, use }: ConfirmedCall, nonce: string, window: number): string {
    const message = JSON.stringify([tokenId, tool, sorted(given), use, nonce, window])
    return letters(hash('sha256', this.#settings.signer.sign(message, 'mcp-confirmation'), 'buffer').subarray(0, 8))
  }

  #remember(code: string): void {
    const window = this.#window()
    for (const [used, at] of this.#used) if (at < window - 1 || this.#used.size >= maxUsedCodes) this.#used.delete(used)
    this.#used.set(code, window)
  }
}

/** Characters that people do not confuse with each other. Each random byte selects one. */
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
const letters = (bytes: Uint8Array): string => Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join('')

/** Sorts the keys of the value: a client may repeat the same arguments in a different order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner)])
}
