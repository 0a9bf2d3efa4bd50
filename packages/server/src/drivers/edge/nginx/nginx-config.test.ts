import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { need } from '../../../../../../tests/kit/machine.ts'
import { tempFolder } from '../../../../../../tests/kit/temp-folder.ts'
import type { EdgeHost, EdgeRule, EdgeTable } from '../../../edge-proxy/protocol/edge-table.ts'
import { type NginxConfig, type NginxSettings, nginxConfig } from './nginx-config.ts'

const settings: NginxSettings = {
  http: { host: '127.0.0.1', port: 18_080 },
  https: null,
  user: null,
  version: [1, 22, 1],
  workers: 2,
}
const running = (port: number, more: Partial<EdgeHost> = {}): EdgeHost => ({
  target: { kind: 'upstreams', projectId: 'p', deploymentId: 'd', upstreams: [{ id: `u${port}`, host: '127.0.0.1', port }] },
  ...more,
})
const table = (hosts: EdgeTable['hosts'], rest: Partial<EdgeTable> = {}): EdgeTable => ({ version: 1, hosts, ...rest })
const hostsOf = (config: NginxConfig) => config.files['hosts.conf']!
const namesIn = (config: NginxConfig) => [...hostsOf(config).matchAll(/server_name (.*);/g)].map(([, name]) => name)

/** Texts that would change the meaning of a configuration if one of them reached it as it is. */
const hostileTexts = [
  'a.test; return 200 "evil"',
  'a.test { return 200 evil; }',
  '} evil {',
  'a"b',
  "a'b",
  'a\\',
  'a\nevil on;',
  'a\r\nevil on;',
  'a\0b',
  '$host',
  '$' + '{berth_owner}',
  '#evil',
  '~^evil$',
  '*',
  '..',
  '.evil.test',
  '-evil.test',
  'evil..test',
  'evil test',
  'evil\ttest',
  'evil.tést',
  `${'evil'.repeat(70)}.test`,
  'unix:/evil',
  '@berth',
  '/../evil',
  'evil;',
  '\u2028evil',
  'evil%00',
  'localhost;evil',
  'fe80::1%$host',
  'fe80::1%evil;',
  '10.0.0.0/8 evil',
  '10.0.0.0/8;evil',
  '10.0.0.0/33',
  '__proto__',
]

/** Everything of a table that a user, a client or another system chooses, set to the same text. */
function hostileTable(text: string): EdgeTable {
  const rules = [
    { id: text, kind: 'ban', enabled: true, pathPrefix: text, hostname: text, config: { ips: [text], userAgents: [text] } },
    { id: `${text}2`, kind: 'allow-deny', enabled: true, expiresAt: text, config: { allow: [text], methods: [text] } },
    { id: `${text}3`, kind: 'rate-limit', enabled: true, config: { requests: text, windowSeconds: text, status: text } },
  ] as unknown as EdgeRule[]
  const owner = { projectId: text, deploymentId: text }
  const upstream = { id: text, host: '127.0.0.1', port: 8_001 }
  const about = { rules, environment: text, service: text, rulesHostname: text }
  return table(
    Object.fromEntries<EdgeHost>([
      [text, { ...running(8_001), ...about }],
      ['running.test', { ...about, target: { kind: 'upstreams', ...owner, upstreams: [upstream] } }],
      ['address.test', { target: { kind: 'upstreams', ...owner, upstreams: [{ ...upstream, host: text }] } }],
      ['port.test', { target: { kind: 'upstreams', ...owner, upstreams: [{ ...upstream, port: text as unknown as number }] } }],
      [
        'weight.test',
        { target: { kind: 'upstreams', ...owner, upstreams: [{ ...upstream, weight: text as unknown as number }] } },
      ],
      ['files.test', { target: { kind: 'static', ...owner, folder: text, notFoundPage: text }, ...about }],
      ['redirect.test', { target: { kind: 'redirect', projectId: text, to: text }, ...about }],
      ['control.test', { target: { kind: 'control', host: text, port: 1, key: text } }],
      ['sleeping.test', { target: { kind: 'sleeping', projectId: text }, ...about }],
    ]),
    {
      certificates: Object.fromEntries([[text, { cert: text, key: text }]]),
      challenges: Object.fromEntries([[text, text]]),
      trustedProxies: [text],
      deliveries: { hostnames: [text, 'running.test'], to: { host: text, port: 1 }, key: text },
    },
  )
}

/** Every line that the file of hosts may consist of. */
const allowedLines = [
  /^upstream berth_[0-9a-f]{20} \{$/,
  /^ {2}server (?:[\d.]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}(?: weight=\d{1,3})? (?:max_fails=0|max_fails=1 fail_timeout=1s);$/,
  /^ {2}keepalive(?:_requests|_timeout)? \w+;$/,
  /^server \{$/,
  /^ {2}listen 127\.0\.0\.1:\d+(?: ssl http2)?;$/,
  /^ {2}server_name (?:\*\.)?[0-9a-z_.-]+;$/,
  /^ {2}ssl_certificate(?:_key)? \.\.\/certificates\/[0-9a-f]{20}\.pem;$/,
  /^ {2}set \$berth_owner "[\w-]+";$/,
  /^ {2}set \$berth_project "[0-9a-f]{20}";$/,
  /^ {2}include server\.conf;$/,
  /^ {2}location (?:\/|@berth_tunnel|@berth_closing) \{$/,
  /^ {2}location = \/\.berth-check \{ internal; include check\.conf; \}$/,
  /^ {2}location \^~ \/api\/webhooks\/git\/ \{ return 479; \}$/,
  /^ {2}location \/ \{ include serve\.conf; \}$/,
  /^ {4}if \(\$berth_upgrade\) \{ return 478; \}$/,
  /^ {4}if \(-f \$berth_closing\) \{ return 477; \}$/,
  /^ {4}keepalive_timeout 0;$/,
  /^ {4}auth_request \/\.berth-check;$/,
  /^ {4}auth_request_set \$berth_refusal \$upstream_http_berth_refusal;$/,
  /^ {4}limit_conn berth_(?:clients|projects) \d+;$/,
  /^ {4}proxy_(?:read|send)_timeout \d+ms;$/,
  /^ {4}proxy_pass http:\/\/berth_[0-9a-f]{20};$/,
  /^ {2}\}$/,
  /^\}$/,
  /^$/,
]
const unknownLines = (config: NginxConfig) =>
  hostsOf(config)
    .split('\n')
    .filter((line) => !allowedLines.some((form) => form.test(line)))

const withTls = { ...settings, https: { host: '127.0.0.1', port: 18_443 } }
const ofEmptyTable = nginxConfig(table({}), withTls).files

describe('the configuration of nginx', () => {
  test.each(hostileTexts)('a value %j has no effect on its structure', (text) => {
    const config = nginxConfig(hostileTable(text), withTls)
    expect(unknownLines(config)).toEqual([])
    const { 'hosts.conf': _, 'names.conf': names, 'nginx.conf': main, ...shared } = config.files
    const { 'hosts.conf': __, 'names.conf': ___, 'nginx.conf': emptyMain, ...emptyShared } = ofEmptyTable
    expect(names).toMatch(/^(?:[0-9a-z_-]+(?:\.[0-9a-z_-]+)+(?: ""|:(\d+) :\1);\n)*$/)
    expect(shared).toEqual(emptyShared)
    // The size of a hash table depends on the number of names.
    expect(main).toBe(emptyMain)
    expect([...config.certificates.keys()].every((file) => /^[0-9a-f]{20}\.pem$/.test(file))).toBe(true)
  })

  test('no text at all has an effect on its structure', () => {
    const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 40 }))
    fc.assert(
      fc.property(text, (one) => {
        expect(unknownLines(nginxConfig(hostileTable(one), withTls))).toEqual([])
      }),
      { numRuns: 40 },
    )
  })

  test('nginx accepts the file for every value', async () => {
    const nginx = need('nginx')
    await using folder = await tempFolder('nginx-config')
    const hosts = Object.assign({}, ...hostileTexts.map((text) => hostileTable(text).hosts)) as EdgeTable['hosts']
    for (const rest of [{}, { trustedProxies: [...hostileTexts, '10.0.0.0/8', '::1', '2001:db8::/32'] }]) {
      await check(nginx, folder.path, nginxConfig(table(hosts, rest), settings))
    }
  })

  test('a running deployment has a server block; every other host is left to the helper', () => {
    const config = nginxConfig(
      table({
        'running.test': running(8_001),
        'sleeping.test': { target: { kind: 'sleeping', projectId: 'p' } },
        'files.test': { target: { kind: 'static', projectId: 'p', deploymentId: 'd', folder: '/srv' } },
        '*.wild.test': running(8_002),
        'unready.test': { target: { kind: 'upstreams', projectId: 'p', deploymentId: 'd', upstreams: [] } },
        'process.test': {
          target: {
            kind: 'upstreams',
            projectId: 'p',
            deploymentId: 'd',
            upstreams: [{ id: 'u', host: '127.0.0.1', port: 1, listener: { uid: 1 } }],
          },
        },
      }),
      settings,
    )
    expect(namesIn(config)).toEqual(['running.test'])
    expect([...config.upstreams]).toEqual([['u8001', { host: '127.0.0.1', port: 8_001 }]])
  })

  test('hosts with the same instances share an upstream group; copies without weight receive nothing', () => {
    const copies = (...weights: number[]): EdgeHost => ({
      target: {
        kind: 'upstreams',
        projectId: 'p',
        deploymentId: 'd',
        upstreams: weights.map((weight, at) => ({ id: `u${at}`, host: '::1', port: 8_000 + at, weight })),
      },
    })
    const config = nginxConfig(table({ 'a.test': copies(1, 3, 0), 'b.test': copies(1, 3, 0) }), settings)
    expect(hostsOf(config).match(/^upstream/gm)).toHaveLength(1)
    expect(hostsOf(config).match(/^ {2}server .*$/gm)).toEqual([
      '  server [::1]:8000 max_fails=1 fail_timeout=1s;',
      '  server [::1]:8001 weight=3 max_fails=1 fail_timeout=1s;',
    ])
  })

  test('only hosts with enabled rules are checked; what a rule says is not part of the configuration', () => {
    const rule = (enabled: boolean, ip: string): EdgeRule => ({ id: 'r', kind: 'ban', enabled, config: { ips: [ip] } })
    const withRule = (one: EdgeRule) => nginxConfig(table({ 'a.test': running(8_001, { rules: [one] }) }), settings).files
    expect(withRule(rule(false, '192.0.2.1'))['hosts.conf']).not.toContain('auth_request')
    expect(withRule(rule(true, '192.0.2.1'))['hosts.conf']).toContain('auth_request')
    expect(withRule(rule(true, '192.0.2.1'))).toEqual(withRule(rule(true, '192.0.2.2')))
  })

  test('plain http of a host that redirects or requests a certificate is left to the helper', () => {
    const certificates = { 'a.test': { cert: 'c', key: 'k' }, '*.wild.test': { cert: 'c2', key: 'k2' } }
    const hosts = {
      'a.test': running(8_001, { redirectToHttps: true }),
      'one.wild.test': running(8_002),
      'waiting.test': running(8_003, { requestCertificate: true }),
    }
    const config = nginxConfig(table(hosts, { certificates }), withTls)
    const blocks = hostsOf(config)
      .split(/^server /m)
      .slice(1)
    const listens = blocks.map((block) => [
      /server_name (.*);/.exec(block)![1],
      ...[...block.matchAll(/listen .*:(\d+)/g)].map(([, port]) => port),
    ])
    expect(listens).toEqual([
      ['a.test', '18443'],
      ['one.wild.test', '18080', '18443'],
      ['*.wild.test', '18443'],
    ])
    expect(nginxConfig(table(hosts, { certificates }), settings).certificates.size).toBe(0)
  })

  test('an address that nginx cannot listen on is refused', () => {
    expect(() => nginxConfig(table({}), { ...settings, http: { host: 'eth0; evil', port: 80 } })).toThrow('cannot listen')
    expect(nginxConfig(table({}), { ...settings, http: { host: '::', port: 80 } }).files['nginx.conf']).toContain(
      'listen [::]:80 default_server',
    )
  })
})

async function check(nginx: string, folder: string, config: NginxConfig): Promise<void> {
  await mkdir(join(folder, 'config'), { recursive: true })
  await mkdir(join(folder, 'temp'), { recursive: true })
  for (const [name, text] of Object.entries(config.files)) await writeFile(join(folder, 'config', name), text)
  const args = ['-t', '-p', `${folder}/`, '-c', 'config/nginx.conf']
  const { stderr } = await promisify(execFile)(nginx, args, { cwd: folder })
  expect(stderr).toContain('test is successful')
}
