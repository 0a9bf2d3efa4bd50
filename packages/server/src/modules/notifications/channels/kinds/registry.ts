import { discord } from './discord.ts'
import { email } from './email.ts'
import { inApp } from './in-app.ts'
import type { ChannelKind } from './kind.ts'
import { ntfy } from './ntfy.ts'
import { slack } from './slack.ts'
import { telegram } from './telegram.ts'
import { webhook } from './webhook.ts'

/** Every way to reach a person. A further one is a file and a word here. */
export const channelKinds: readonly ChannelKind[] = [email, webhook, inApp, slack, discord, telegram, ntfy]

export function channelKind(name: string): ChannelKind | undefined {
  return channelKinds.find(({ kind }) => kind === name)
}
