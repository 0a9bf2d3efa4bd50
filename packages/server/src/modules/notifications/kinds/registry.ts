import { discord } from './discord.ts'
import { email } from './email.ts'
import { inApp } from './in-app.ts'
import type { ChannelKind } from './kind.ts'
import { ntfy } from './ntfy.ts'
import { slack } from './slack.ts'
import { telegram } from './telegram.ts'
import { webhook } from './webhook.ts'

/** All kinds of channels. A new kind is a file and an entry here. */
export const channelKinds: readonly ChannelKind[] = [email, webhook, inApp, slack, discord, telegram, ntfy]

export function channelKind(name: string): ChannelKind | undefined {
  return channelKinds.find(({ kind }) => kind === name)
}
