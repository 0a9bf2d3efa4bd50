import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { Signals } from '../../platform/signals/signals.ts'

/** Dependencies of the MCP endpoint besides the routes. */
export interface McpSettings {
  publicUrl(): string
  now(): number
  /** Signs session ids and confirmation codes, the same on every control plane. */
  signer: Pick<SecretBox, 'sign' | 'isSigned'>
  signals: Signals
}
