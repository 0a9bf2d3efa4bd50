import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, type People } from './kit/people.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

test('400 names the field of a NUL or an unpaired surrogate in a body', async () => {
  for (const [body, field] of [
    ['{"name":"a\\u0000b"}', 'name'],
    ['{"name":"\\ud800"}', 'name'],
    ['{"name":"x","volumes":[{"name":"v","mountPath":"/d\\u0000"}]}', 'volumes.0.mountPath'],
  ] as const) {
    const answer = await call(instance, people.owner.token, 'POST /projects', { body })
    expect([answer.status, answer.body.field]).toEqual([400, field])
  }
})
test('a complete surrogate pair and an escaped backslash before u0000 are accepted', async () => {
  for (const name of ['\u{1f6a2}', '\\u0000'])
    expect((await call(instance, people.owner.token, 'POST /projects', { body: { name } })).body.data.name).toBe(name)
})
test('400: a name with line breaks, terminal control characters, bidirectional overrides, or only invisible characters', async () => {
  for (const name of ['a\r\nBcc: b@c.test', 'a\u001b[31m', 'a\u009b2J', 'cv\u202efdp.exe', '\u2066a', '\u200b\u200b', ' \t '])
    for (const at of ['POST /projects', 'POST /organizations', 'POST /tokens'] as const) {
      const { status, body } = await call(instance, people.owner.token, at, { body: { name } })
      expect([status, body.field], JSON.stringify(name)).toEqual([400, 'name'])
    }
  for (const name of ['Ünïcödé', 'می\u200cخواهم', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', 'עברית'])
    expect((await call(instance, people.owner.token, 'POST /projects', { body: { name } })).body.data.name).toBe(name)
})
test('404: a NUL in the path; 400: in the query', async () => {
  expect((await call(instance, people.owner.token, 'GET /projects/:id', { params: { id: 'a\0b' } })).status).toBe(404)
  const { status, body } = await call(instance, people.owner.token, 'GET /projects', { query: { q: 'a\0b' } })
  expect([status, body.field]).toEqual([400, 'q'])
})

test('400: too deeply nested JSON, for every caller and route', async () => {
  const nested = (open: string, close: string, times: number) => `${open.repeat(times)}1${close.repeat(times)}`
  const deep = [nested('[', ']', 100_000), nested('{"a":', '}', 65), `"[\\"]",${nested('[', ']', 65)}`]
  for (const value of deep.map((one) => `{"name":"x","email":"a","password":"b","services":[${one}]}`)) {
    for (const [token, at] of [
      [people.owner.token, 'POST /projects'],
      [null, 'POST /auth/login'],
    ] as const) {
      const { status, body } = await call(instance, token, at, { body: value })
      expect([status, body.code]).toEqual([400, 'invalid_json'])
    }
  }
})
test('brackets in text and the nesting of real bodies are accepted', async () => {
  const name = `${'['.repeat(50)}"\\${'{'.repeat(40)}`
  const healthcheck = JSON.parse(`${'{"a":'.repeat(50)}"${'['.repeat(100)}"${'}'.repeat(50)}`)
  const body = { name, type: 'services', services: [{ name: 'a', image: 'b', healthcheck }] }
  expect((await call(instance, people.owner.token, 'POST /projects', { body })).body.data.name).toBe(name)
})
