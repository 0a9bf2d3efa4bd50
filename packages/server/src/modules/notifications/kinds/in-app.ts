import { ConfigFields } from './config-fields.ts'
import type { ChannelKind } from './kind.ts'

type NoFields = Record<string, never>

/** The delivery's row is the feed entry, so it is delivered as soon as it is recorded. */
export const inApp: ChannelKind<NoFields, NoFields> = {
  kind: 'in_app',
  documented: true,
  checkConfig(input) {
    const { problems } = new ConfigFields(input)
    return problems.length > 0 ? { ok: false, problems } : { ok: true, config: {}, secrets: {} }
  },
  redact: () => ({}),
  sameConfig: () => true,
  async deliver(_message, _config, _secrets, _drivers, abort) {
    abort.throwIfAborted()
  },
}
