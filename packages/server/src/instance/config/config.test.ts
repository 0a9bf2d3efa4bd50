import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../platform/config-error.ts'
import { describeSettings, readConfig } from './config.ts'

const home = { HOME: '/home/ada' }

describe('defaults', () => {
  test('without any setting the defaults of the contract apply', () => {
    expect(readConfig(home)).toMatchObject({
      mode: 'self-hosted',
      host: '127.0.0.1',
      port: 4000,
      edgePort: 4080,
      edgeTlsPort: null,
      baseDomain: 'localhost',
      dataDir: '/home/ada/.berth',
      databaseUrl: null,
      runtime: 'auto',
      edge: 'embedded',
      secretKey: null,
      sleepAfterSeconds: 900,
      allowPrivateWebhooks: false,
      slackHost: 'hooks.slack.com',
      projectRoots: ['/home/ada/.berth/projects'],
      github: { appId: null, apiUrl: 'https://api.github.com' },
      warnings: [],
    })
  })

  test('the projects folder is below the data folder', () => {
    expect(readConfig({ ...home, BERTH_DATA_DIR: '~/data' }).projectRoots).toEqual(['/home/ada/data/projects'])
  })

  test('with a base domain and https the dashboard is at berth.<base domain>; localhost and a configured URL are kept', () => {
    const server = { ...home, BERTH_BASE_DOMAIN: 'apps.example.com', BERTH_EDGE_TLS_PORT: '443' }
    expect(readConfig(server).publicUrl).toBe('https://berth.apps.example.com')
    expect(readConfig({ ...server, BERTH_EDGE_TLS_PORT: '8443' }).publicUrl).toBe('https://berth.apps.example.com:8443')
    expect(readConfig({ ...server, BERTH_PUBLIC_URL: 'https://b.example.com' }).publicUrl).toBe('https://b.example.com')
    expect(readConfig({ ...server, BERTH_BASE_DOMAIN: 'localhost' }).publicUrl).toBeNull()
    expect(readConfig({ ...home, BERTH_BASE_DOMAIN: 'apps.example.com' }).publicUrl).toBeNull()
  })

  test('a DNS provider requires a token, a hook requires a program', () => {
    expect(() => readConfig({ ...home, BERTH_DNS_PROVIDER: 'hetzner' })).toThrow(/^BERTH_DNS_TOKEN is missing/)
    expect(() => readConfig({ ...home, BERTH_DNS_PROVIDER: 'hook' })).toThrow(/^BERTH_DNS_HOOK is missing/)
    const hook = (text: string) => readConfig({ ...home, BERTH_DNS_PROVIDER: 'hook', BERTH_DNS_HOOK: text }).dns.hook
    expect(hook('/bin/dns --zone example.com')).toEqual(['/bin/dns', '--zone', 'example.com'])
    expect(hook('["/bin/dns", "two words"]')).toEqual(['/bin/dns', 'two words'])
    expect(() => hook('dns')).toThrow(/BERTH_DNS_HOOK/)
  })

  test('the range of project networks is a setting and has to be private', () => {
    expect(readConfig(home).networkRanges).toBeNull()
    expect(readConfig({ ...home, BERTH_NETWORK_RANGE: '10.200.0.0/16' }).networkRanges).toEqual(['10.200.0.0/16'])
    expect(() => readConfig({ ...home, BERTH_NETWORK_RANGE: '8.8.8.0/24' })).toThrow(/BERTH_NETWORK_RANGE/)
  })

  test('an empty value counts as absent', () => {
    expect(readConfig({ ...home, BERTH_PORT: ' ', BERTH_DATABASE_URL: '' })).toMatchObject({ port: 4000, databaseUrl: null })
  })

  test('the config is deeply frozen', () => {
    const config = readConfig(home)
    for (const part of [config, config.github, config.warnings, config.trustedProxies, config.projectRoots])
      expect(Object.isFrozen(part)).toBe(true)
  })
})

describe('an invalid setting stops the start with one line that names the variable and the valid values', () => {
  test('the message', () => {
    expect(() => readConfig({ BERTH_PORT: 'abc' })).toThrow(
      new ConfigError('BERTH_PORT', 'BERTH_PORT is "abc": it must be a whole number from 0 to 65535'),
    )
  })

  test.each([
    ['BERTH_MODE', 'clowd'],
    ['BERTH_HOST', 'a b'],
    ['BERTH_PORT', '65536'],
    ['BERTH_PORT', '-1'],
    ['BERTH_PORT', '4000.5'],
    ['BERTH_PORT', '0x10'],
    ['BERTH_EDGE_PORT', '4000'],
    ['BERTH_EDGE_TLS_PORT', '4080'],
    ['BERTH_BASE_DOMAIN', 'http://example.com'],
    ['BERTH_BASE_DOMAIN', '10.0.0.1'],
    ['BERTH_DATABASE_URL', 'mysql://root:pass@db/berth'],
    ['BERTH_RUNTIME', 'podman'],
    ['BERTH_EDGE', 'caddy'],
    ['BERTH_SECRET_KEY', 'too short'],
    ['BERTH_SECRET_KEY', 'long-enough-long-enough,short'],
    ['BERTH_PUBLIC_URL', 'example.com'],
    ['BERTH_PUBLIC_URL', 'https://example.com/berth'],
    ['BERTH_ALLOW_PRIVATE_WEBHOOKS', 'maybe'],
    ['BERTH_SMTP_URL', 'mail.example.com'],
    ['BERTH_SLEEP_AFTER_SECONDS', 'soon'],
    ['BERTH_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['BERTH_TRUSTED_PROXIES', '10.0.0.1, proxy.example.com'],
    ['BERTH_LOG_LEVEL', 'loud'],
    ['BERTH_PROJECT_ROOTS', 'relative/folder'],
    ['BERTH_SLACK_HOST', 'https://hooks.slack.com'],
    ['BERTH_IMAGE_MIRROR', 'https://mirror'],
    ['BERTH_DOCKER_SOCKET', 'docker.sock'],
    ['BERTH_ACME_DIRECTORY', 'letsencrypt'],
    ['BERTH_ACME_EMAIL', 'not-an-address'],
    ['BERTH_MAX_BUILDS', '0'],
    ['BERTH_JOB_LEASE_SECONDS', '0'],
    ['BERTH_GITHUB_APP_ID', 'app'],
    ['BERTH_GITHUB_PRIVATE_KEY', 'not a key'],
    ['BERTH_GITHUB_API_URL', 'ftp://example.com'],
    ['BERTH_MODE', 'a\nb'],
  ])('%s=%s', (variable, value) => {
    const failure = failureOf({ ...home, [variable]: value })
    expect(failure.variable).toBe(variable)
    expect(failure.message).toMatch(new RegExp(`^${variable} .*: it must be [^\\n]+$`))
  })

  test.each(['BERTH_DATABASE_URL', 'BERTH_SMTP_URL', 'BERTH_SECRET_KEY', 'BERTH_GITHUB_PRIVATE_KEY', 'BERTH_ADMIN_PASSWORD'])(
    'an invalid %s is not repeated in the message',
    (variable) => {
      expect(failureOf({ ...home, BERTH_ADMIN_EMAIL: 'ada@example.com', [variable]: 'canary' }).message).not.toContain('canary')
    },
  )

  test.each([
    ['BERTH_ADMIN_PASSWORD', { BERTH_ADMIN_EMAIL: 'ada@example.com' }],
    ['BERTH_ADMIN_EMAIL', { BERTH_ADMIN_PASSWORD: 'correct horse' }],
    ['BERTH_GITHUB_PRIVATE_KEY', { BERTH_GITHUB_APP_ID: '12' }],
    ['BERTH_UPLOADS_ACCESS_KEY_ID', { BERTH_UPLOADS_BUCKET: 'uploads' }],
    ['BERTH_UPLOADS_SECRET_ACCESS_KEY', { BERTH_UPLOADS_BUCKET: 'uploads', BERTH_UPLOADS_ACCESS_KEY_ID: 'key' }],
  ])('%s is missing if only its other half is given', (variable, given) => {
    expect(failureOf({ ...home, ...given })).toMatchObject({ variable, message: expect.stringContaining('is missing') })
  })

  test('port 0 is allowed several times: each takes a free port', () => {
    expect(() => readConfig({ ...home, BERTH_PORT: '0', BERTH_EDGE_PORT: '0', BERTH_EDGE_TLS_PORT: '0' })).not.toThrow()
  })
})

describe('values', () => {
  test('a private key may contain escaped newlines or be base64', () => {
    const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----'
    for (const text of [pem, pem.replaceAll('\n', '\\n'), Buffer.from(pem).toString('base64')]) {
      const { github } = readConfig({ ...home, BERTH_GITHUB_APP_ID: '7', BERTH_GITHUB_PRIVATE_KEY: text })
      expect(github.privateKey?.reveal()).toBe(pem)
    }
  })

  test('a password keeps its spaces', () => {
    const { adminPassword } = readConfig({
      ...home,
      BERTH_ADMIN_EMAIL: 'ada@example.com',
      BERTH_ADMIN_PASSWORD: ' correct horse ',
    })
    expect(adminPassword?.reveal()).toBe(' correct horse ')
  })

  test('lists are split', () => {
    const config = readConfig({ ...home, BERTH_TRUSTED_PROXIES: '10.0.0.0/8, ::1', BERTH_PROJECT_ROOTS: '/srv:~/code' })
    expect(config.trustedProxies).toEqual(['10.0.0.0/8', '::1'])
    expect(config.projectRoots).toEqual(['/srv', '/home/ada/code'])
  })

  test('printing the config shows no secret', () => {
    const config = readConfig({
      ...home,
      BERTH_DATABASE_URL: 'postgres://berth:canary@127.0.0.1/berth',
      BERTH_SMTP_URL: 'smtp://berth:canary@127.0.0.1',
      BERTH_SECRET_KEY: 'canary-canary-canary',
      BERTH_ADMIN_EMAIL: 'ada@example.com',
      BERTH_ADMIN_PASSWORD: 'canary-password',
      BERTH_GITHUB_CLIENT_ID: 'an-id',
      BERTH_GITHUB_CLIENT_SECRET: 'canary',
      BERTH_GITHUB_WEBHOOK_SECRET: 'canary',
    })
    expect(inspect(config, { depth: 9 }) + JSON.stringify(config)).not.toContain('canary')
    expect(config.databaseUrl?.reveal()).toContain('canary')
  })
})

test('an unknown BERTH_ variable is a warning with the nearest known name; test variables are left alone', () => {
  expect(readConfig({ ...home, BERTH_PROT: '1', BERTH_TEST_DATABASE: 'sqlite', OTHER: 'x' }).warnings).toEqual([
    'BERTH_PROT is not a setting and was ignored. Did you mean BERTH_PORT?',
  ])
})

test('every setting has a description', () => {
  const rows = describeSettings()
  expect(rows.length).toBeGreaterThanOrEqual(35)
  for (const row of rows)
    expect(row).toMatchObject({ variable: expect.stringMatching(/^BERTH_[A-Z_]+$/), help: expect.stringMatching(/./) })
  expect(rows.find(({ variable }) => variable === 'BERTH_PORT')).toEqual({
    variable: 'BERTH_PORT',
    help: expect.any(String),
    accepts: 'a whole number from 0 to 65535',
    default: '4000',
    secret: false,
  })
})

function failureOf(env: Record<string, string>): ConfigError {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('the settings were accepted')
}
