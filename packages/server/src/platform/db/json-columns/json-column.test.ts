import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { liveEnvironmentJson } from './deployments.ts'
import { jsonColumn, StoredValueError, sealedJson } from './json-column.ts'
import { projectJson } from './projects.ts'

const resources = {
  production: { cpuCores: 1, memoryMb: 512, diskMb: 1024 },
  build: { cpuCores: 1, memoryMb: 512, diskMb: 1024 },
}

test('a column is read with its type, null stays null, and unknown fields are kept', () => {
  const volumes = [{ name: 'data', mountPath: '/data', later: true }]
  expect(projectJson.volumes({ id: 'prj_1', volumes: JSON.stringify(volumes) })).toEqual(volumes)
  expect(projectJson.carried({ id: 'prj_1', carried: null })).toBeNull()
  expect(projectJson.resources({ resources: JSON.stringify(resources) })).toEqual(resources)
})

describe('an invalid stored value is refused with table, column and row', () => {
  test.each([
    ['{', 'The stored value of projects.volumes in row prj_1 is invalid: it is not JSON'],
    ['{}', 'The stored value of projects.volumes in row prj_1 is invalid: it must be array'],
    ['[{"name":"data"}]', "projects.volumes in row prj_1 is invalid: 0 must have required property 'mountPath'"],
    ['[{"name":1,"mountPath":"/data"}]', 'projects.volumes in row prj_1 is invalid: 0.name must be string'],
  ])('%s', (volumes, message) => {
    const read = () => projectJson.volumes({ id: 'prj_1', volumes })
    expect(read).toThrow(StoredValueError)
    expect(read).toThrow(message)
  })

  test('a row is identified by the key of its table', () => {
    const row = { projectId: 'prj_1', environment: 'production', serviceRoutes: '[1]' }
    expect(() => liveEnvironmentJson.serviceRoutes(row)).toThrow('liveEnvironments.serviceRoutes in row prj_1 production')
  })
})

test('limits of requests do not apply to stored values', () => {
  const column = jsonColumn('projects', 'volumes', Type.Array(Type.String({ maxLength: 1, pattern: '^x$' }), { maxItems: 1 }))
  expect(column({ volumes: '["long","other"]' })).toEqual(['long', 'other'])
})

test('the error for a sealed value does not contain it', () => {
  const read = sealedJson('servers.credential', Type.Object({ password: Type.String() }))
  expect(() => read('hunter2', 'srv_1')).toThrow('The stored value of servers.credential in row srv_1 is invalid: it is not JSON')
  expect(() => read('{"password":["hunter2"]}', 'srv_1')).toThrow(/is invalid: password must be string$/)
})
