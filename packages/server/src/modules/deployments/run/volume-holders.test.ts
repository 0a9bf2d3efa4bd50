import { describe, expect, test } from 'vitest'
import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import type { DeployPlan, Unit } from '../plan/deployed.ts'
import { conflictingWriters, isExclusiveWriter, isSameService, sharedInstances } from './volume-holders.ts'

const unit = (service: string, changes: Partial<Unit> = {}): Unit => ({
  service,
  build: null,
  image: service,
  command: null,
  entrypoint: null,
  environment: {},
  port: null,
  exposed: false,
  volumes: [],
  dependsOn: [],
  allotment: { cpuCores: 1, memoryMb: 256, diskMb: 1000 },
  restart: true,
  ...changes,
})
const data = (readOnly = false) => ({ volumes: [{ name: 'data', mountPath: '/data', readOnly }] })
const plan = (...units: Unit[]): DeployPlan => ({ type: 'services', units })
const row = (service: string, changes: Partial<InstanceRow> = {}) =>
  ({ id: `ins_${service}`, service, state: 'running', ...changes }) as InstanceRow
const services = (rows: readonly InstanceRow[]) => rows.map(({ service }) => service)

describe('a volume with one writer', () => {
  test('writers are services with a writable volume that are not exposed', () => {
    expect(isExclusiveWriter(unit('db', data()))).toBe(true)
    expect(isExclusiveWriter(unit('report', data(true)))).toBe(false)
    expect(isExclusiveWriter(unit('api'))).toBe(false)
    expect(isExclusiveWriter(unit('web', { ...data(), exposed: true }))).toBe(false)
  })

  test('only the older instance of the same service is stopped for it', () => {
    const all = plan(unit('web', { exposed: true }), unit('api'), unit('db', data()))
    const rows = ['web', 'api', 'db'].map((service) => row(service))
    expect(services(conflictingWriters(unit('db', data()), all, { plan: all, rows }))).toEqual(['db'])
    expect(conflictingWriters(unit('api'), all, { plan: all, rows })).toEqual([])
  })

  test('a renamed service that wrote the volume is stopped too', () => {
    const old = plan(unit('db', data()), unit('queue', { volumes: [{ name: 'jobs', mountPath: '/jobs', readOnly: false }] }))
    const rows = [row('db'), row('queue')]
    const renamed = plan(unit('database', data()))
    expect(services(conflictingWriters(unit('database', data()), renamed, { plan: old, rows }))).toEqual(['db'])
  })

  test('two services of one version that share a volume do not stop each other', () => {
    const both = plan(unit('db', data()), unit('backup', data()))
    expect(services(conflictingWriters(unit('db', data()), both, { plan: both, rows: [row('db'), row('backup')] }))).toEqual([
      'db',
    ])
  })
})

describe('unchanged units', () => {
  const deployment = (changes: Partial<Unit> = {}, artifact: object = {}) =>
    ({
      plan: JSON.stringify(plan(unit('db', { ...data(), environment: { A: '1', B: '2' }, ...changes }))),
      artifacts: JSON.stringify({ db: { kind: 'image', reference: 'db:17', sizeBytes: 0, startCommand: null, ...artifact } }),
    }) as DeploymentRow
  const before = { deployment: deployment(), env: { KEY: 'a' } }
  const same = (changes: Partial<Unit> = {}, artifact: object = {}, env: Record<string, string> = { KEY: 'a' }) =>
    isSameService('db', before, { deployment: deployment(changes, artifact), env })

  test('equal settings are unchanged', () => {
    expect(same()).toBe(true)
    expect(same({ environment: { B: '2', A: '1' } })).toBe(true)
    expect(same({ dependsOn: ['other'] })).toBe(true)
  })

  test('another image, command, variable, volume or limit is a change', () => {
    expect(same({}, { reference: 'db:18' })).toBe(false)
    expect(same({ command: ['other'] })).toBe(false)
    expect(same({ environment: { A: '1', B: '3' } })).toBe(false)
    expect(same({}, {}, { KEY: 'b' })).toBe(false)
    expect(same({ volumes: [{ name: 'data', mountPath: '/elsewhere', readOnly: false }] })).toBe(false)
    expect(same({ allotment: { cpuCores: 2, memoryMb: 256, diskMb: 1000 } })).toBe(false)
  })

  test('builds are compared by content, not by name', () => {
    const built = (reference: string, content: string) => ({ deployment: deployment({}, { reference, content }), env: {} })
    expect(isSameService('db', built('one', 'abc'), built('two', 'abc'))).toBe(true)
    expect(isSameService('db', built('one', 'abc'), built('one', 'abd'))).toBe(false)
  })

  test('a service that exists in only one version is a change', () => {
    const none = { deployment: { ...deployment(), plan: JSON.stringify(plan(unit('web'))) } as DeploymentRow, env: {} }
    expect(isSameService('db', before, none)).toBe(false)
    expect(isSameService('db', none, none)).toBe(false)
  })
})

test('at the switch, the new version takes over the instances that it uses and did not start', () => {
  const now = plan(unit('web', { exposed: true }), unit('db', data()), unit('queue', data()), unit('api'))
  const old = ['web', 'db', 'queue', 'api', 'gone'].map((service) => row(service))
  expect(services(sharedInstances(now, old, [row('web'), row('queue')]))).toEqual(['db'])
  expect(sharedInstances(now, [row('db', { state: 'retired' })], [])).toEqual([])
})
