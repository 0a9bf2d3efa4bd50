import { expect, test } from 'vitest'
import type { AccessLine } from './access-log.ts'
import { loggedRequest } from './log-line-record.ts'

const owner = Buffer.from(JSON.stringify(['prj_1', null, 'production', null])).toString('base64url')
const line = {
  ...{ id: '1-1-1.5', at: '10.5', ip: '192.0.2.1', method: 'POST', host: 'a.test', path: '/p', status: '200' },
  ...{ seconds: '0.5', in: '5', length: '120', out: '7', agent: 'test', owner },
}

test('a line of the access log is a record', () => {
  expect(loggedRequest(line)).toMatchObject({
    ...{ projectId: 'prj_1', deploymentId: null, environment: 'production' },
    record: { host: 'a.test', timeMs: 10_000, durationMs: 500, bytesIn: 5, bytesOut: 7 },
  })
})

test('a client cannot announce more bytes than it sent', () => {
  expect(loggedRequest({ ...line, in: '1000000000000' })?.record.bytesIn).toBe(120)
})

test.each<AccessLine>([{ id: '","x' }, { ip: 'a b' }, { method: '"' }, { host: '_"' }, { owner: '' }, { owner: 'e30' }])(
  'a line with other values is none: %j',
  (changes) => {
    expect(loggedRequest({ ...line, ...changes })).toBeUndefined()
  },
)
