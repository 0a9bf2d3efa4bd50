import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Secret } from '../../platform/secrets/secret.ts'
import { createRunCommand } from '../shell/run-command.ts'
import { createDnsChallenge, dnsProviders } from './create-dns-challenge.ts'
import { DnsProviderFailed } from './dns-challenge.ts'
import { describeDnsChallenge } from './suite.ts'
import { testProviders } from './test-providers.ts'

const neverAborted = new AbortController().signal
const run = createRunCommand(process.env)
const titles = { cloudflare: 'Cloudflare', digitalocean: 'DigitalOcean', hetzner: 'Hetzner' } as const
const providers = Object.keys(dnsProviders) as (keyof typeof dnsProviders)[]

for (const provider of providers)
  describeDnsChallenge(titles[provider], async () => {
    const server = await testProviders[provider]()
    return {
      provider: createDnsChallenge({ provider, token: new Secret(server.token), apiUrl: server.url, hook: null, run })!,
      valuesAt: (name) => server.records.get(name) ?? [],
      breakDown: () => {
        server.isBroken = true
      },
      close: server.close,
    }
  })

describeDnsChallenge('a hook', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-dns-hook-'))
  const [script, zone] = [join(folder, 'hook'), join(folder, 'zone')]
  await writeFile(zone, '')
  // $1 is an argument of the operator; the verb, the name and the value follow it.
  const lines = [
    '#!/bin/sh',
    `zone=$1 verb=$2 name=$3 value=$4`,
    'if [ -e "$zone.broken" ]; then echo "broken on purpose" >&2; exit 3; fi',
    'grep -vxF "$name $value" "$zone" > "$zone.new"; mv "$zone.new" "$zone"',
    'if [ "$verb" = present ]; then echo "$name $value" >> "$zone"; fi',
  ]
  await writeFile(script, lines.join('\n'))
  await chmod(script, 0o755)
  const hook = createDnsChallenge({ provider: 'hook', token: null, apiUrl: null, hook: [script, zone], run })!
  return {
    provider: hook,
    async valuesAt(name) {
      const entries = (await readFile(zone, 'utf8')).split('\n').filter((line) => line.startsWith(`${name} `))
      return entries.map((line) => line.slice(name.length + 1))
    },
    breakDown: () => writeFile(`${zone}.broken`, ''),
    close: () => rm(folder, { recursive: true, force: true }),
  }
})

test('arguments reach the hook program unchanged, without a shell', async () => {
  const hook = createDnsChallenge({ provider: 'hook', token: null, apiUrl: null, hook: ['/bin/echo', '$(id)'], run })!
  await expect(hook.present('a; id', '`id`', neverAborted)).resolves.toBeUndefined()
  const missing = createDnsChallenge({ provider: 'hook', token: null, apiUrl: null, hook: ['/nonexistent'], run })!
  await expect(missing.present('a', 'b', neverAborted)).rejects.toThrow(/The DNS hook failed/)
})

test.each(providers)(
  '%s: the error names a zone that the token cannot see or a wrong token, and never contains the token',
  async (provider) => {
    const server = await testProviders[provider]()
    const open = (token: string) =>
      createDnsChallenge({ provider, token: new Secret(token), apiUrl: server.url, hook: null, run })!
    const elsewhere = '_acme-challenge.other.invalid'
    await expect(open(server.token).present(elsewhere, 'x', neverAborted)).rejects.toThrow(
      `${titles[provider]} has no zone for ${elsewhere}`,
    )
    const refused = await open('wrong-token')
      .present('_acme-challenge.example.test', 'x', neverAborted)
      .catch((error: Error) => error)
    expect(refused).toBeInstanceOf(DnsProviderFailed)
    expect(String(refused)).toMatch(/401: invalid token/)
    expect(String(refused)).not.toContain('wrong-token')
    await server.close()
    await expect(open(server.token).present('_acme-challenge.example.test', 'x', neverAborted)).rejects.toThrow(
      /cannot be reached/,
    )
  },
)
