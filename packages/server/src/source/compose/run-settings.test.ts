// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import { gives, web } from './compose-case.ts'
import type { ComposeService } from './model.ts'

describe('container settings', () => {
  const check = {
    test: null,
    intervalSeconds: null,
    timeoutSeconds: null,
    startPeriodSeconds: null,
    startIntervalSeconds: null,
    retries: null,
  }
  test.each([
    [
      '{ test: [CMD, curl, -f, "http://localhost"], interval: 1m30s, timeout: 10s, retries: 3, start_period: 40s, start_interval: 500ms }',
      {
        test: { kind: 'exec', argv: ['curl', '-f', 'http://localhost'] },
        intervalSeconds: 90,
        timeoutSeconds: 10,
        startPeriodSeconds: 40,
        startIntervalSeconds: 0.5,
        retries: 3,
      },
    ],
    [
      '{ test: curl -f http://localhost || exit 1 }',
      { ...check, test: { kind: 'shell', line: 'curl -f http://localhost || exit 1' } },
    ],
    ['{ test: [CMD-SHELL, pg_isready] }', { ...check, test: { kind: 'shell', line: 'pg_isready' } }],
    ['{ test: [NONE] }', { ...check, test: { kind: 'none' } }],
    ['{ disable: true }', { ...check, test: { kind: 'none' } }],
  ])('healthcheck %s', (text, healthcheck) => gives(`healthcheck: ${text}`, { healthcheck } as Partial<ComposeService>))
  test.each([
    ['always', { policy: 'always', maxRetries: null }],
    ['unless-stopped', { policy: 'unless-stopped', maxRetries: null }],
    ['on-failure:3', { policy: 'on-failure', maxRetries: 3 }],
    ['no', { policy: 'no', maxRetries: null }],
    ['"no"', { policy: 'no', maxRetries: null }],
    ['false', { policy: 'no', maxRetries: null }],
  ])('restart %s', (text, restart) => gives(`restart: ${text}`, { restart } as Partial<ComposeService>))
  test('limits, replicas and restart policy of deploy', () =>
    gives(
      'deploy: { mode: replicated, replicas: 2, resources: { limits: { cpus: "0.50", memory: 1.5g, pids: 100 } }, restart_policy: { condition: on-failure, max_attempts: 5 } }',
      {
        replicas: 2,
        cpuCores: 0.5,
        memoryMb: 1536,
        pidsLimit: 100,
        restart: { policy: 'on-failure', maxRetries: 5 },
      },
    ))
  test('the older names of limits', () =>
    gives('cpus: 2\nmem_limit: 512m\npids_limit: 50\nscale: 3', { cpuCores: 2, memoryMb: 512, pidsLimit: 50, replicas: 3 }))
  test('an unlimited number of processes', () => gives('pids_limit: -1', { pidsLimit: null }))
  test('all other settings of a container', () =>
    gives(
      'user: "1000:1000"\nworking_dir: /app\nhostname: box\nstop_grace_period: 1m\nstop_signal: SIGINT\ninit: true\nread_only: yes\nshm_size: 64m\ncap_drop: [ALL, CAP_KILL]\nprofiles: [debug]\nlabels: { a: b, n: 1 }\nsecurity_opt: [no-new-privileges:true]',
      {
        user: '1000:1000',
        workingDir: '/app',
        hostname: 'box',
        stopGraceSeconds: 60,
        stopSignal: 'SIGINT',
        init: true,
        readOnly: true,
        shmMb: 64,
        capDrop: ['ALL', 'KILL'],
        profiles: ['debug'],
        labels: { a: 'b', n: '1' },
        noNewPrivileges: true,
      },
    ))
  test('labels as a list', () => gives('labels: ["a=b=c", flag]', { labels: { a: 'b=c', flag: '' } }))
  test('labels that mark the owner of a container are dropped with a warning', () => {
    const file = web('labels: { berth.project: prj_x, com.docker.compose.project: x, mine: y }')
    expect(file.web.labels).toEqual({ mine: 'y' })
    expect(file.warnings.map((one) => one.path)).toEqual([
      'services.web.labels.berth.project',
      'services.web.labels.com.docker.compose.project',
    ])
  })
  test('networks, as a list and with aliases', () => {
    const rest = 'networks: { front: , back: { driver: bridge } }'
    expect(web('networks: [front]', {}, rest).web.networks).toEqual([{ name: 'front', aliases: [] }])
    const file = web('networks: { front: , back: { aliases: [api], ipv4_address: 10.1.1.1 } }', {}, rest)
    expect(file.web.networks).toEqual([
      { name: 'front', aliases: [] },
      { name: 'back', aliases: ['api'] },
    ])
    expect(file.refused).toMatchObject([{ path: 'services.web.networks.back.ipv4_address' }])
  })
})
