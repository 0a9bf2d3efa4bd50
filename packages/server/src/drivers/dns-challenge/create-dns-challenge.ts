import type { Secret } from '../../platform/secrets/secret.ts'
import type { RunCommand } from '../shell/command.ts'
import { createCloudflare } from './cloudflare.ts'
import { createDigitalOcean } from './digitalocean.ts'
import type { DnsChallenge } from './dns-challenge.ts'
import { createHetzner } from './hetzner.ts'
import { createHook } from './hook.ts'

export const dnsProviders = { cloudflare: createCloudflare, digitalocean: createDigitalOcean, hetzner: createHetzner } as const

export interface DnsChallengeSettings {
  provider: keyof typeof dnsProviders | 'hook' | null
  token: Secret | null
  apiUrl: string | null
  hook: readonly string[] | null
  run: RunCommand
}

/** The driver of the configured provider; null if none is configured. */
export function createDnsChallenge({ provider, token, apiUrl, hook, run }: DnsChallengeSettings): DnsChallenge | null {
  if (provider === 'hook') return hook && createHook({ run, command: hook })
  return provider && token && dnsProviders[provider]({ token, apiUrl })
}
