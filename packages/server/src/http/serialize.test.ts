import fastify from 'fastify'
import { expect, test } from 'vitest'
import { serializeLazily } from './serialize.ts'

const hidden = { type: 'object', properties: { shown: { type: 'string' } }, required: ['shown'] }
const nothing = { type: 'null' }
const schema = {
  type: 'object',
  properties: {
    thing: { anyOf: [hidden, nothing] },
    things: { anyOf: [{ type: 'array', items: hidden }, nothing] },
    either: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    date: { type: ['string', 'null'], format: 'date-time' },
  },
}

async function answerOf(value: unknown): Promise<unknown> {
  const app = fastify()
  serializeLazily(app)
  app.get('/', { schema: { response: { '2xx': schema } } }, () => value)
  return (await app.inject('/')).json()
}

test.each([
  { thing: null, things: null, date: null },
  { thing: { shown: 'a' }, things: [{ shown: 'b' }], date: '2026-01-02T03:04:05.000Z' },
  { things: [] },
  { either: 'one' },
  { either: ['one', 'two'] },
])('%j is serialized unchanged', async (value) => {
  expect(await answerOf(value)).toEqual(value)
})

test('undeclared fields are dropped, also below a nullable shape', async () => {
  const thing = { shown: 'a', secret: 'b' }
  expect(await answerOf({ thing, things: [thing], secret: 'c' })).toEqual({ thing: { shown: 'a' }, things: [{ shown: 'a' }] })
})
