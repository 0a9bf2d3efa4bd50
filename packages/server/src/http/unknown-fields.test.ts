import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { dropUnknownFields } from './unknown-fields.ts'

const Inner = Type.Object({ cpuCores: Type.Optional(Type.Number()) })
const Body = Type.Object({
  name: Type.String(),
  production: Type.Optional(Inner),
  maybe: Type.Unsafe({ anyOf: [Inner, { type: 'null' }] }),
  choice: Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]),
  items: Type.Array(Inner),
  labels: Type.Record(Type.String(), Type.String()),
  routes: Type.Record(Type.String({ pattern: '^[a-z]+$' }), Type.Boolean()),
  anything: Type.Unknown(),
  kind: Type.Optional(Type.String()),
  config: Type.Optional({ kinds: { email: Type.Object({ address: Type.String() }), hook: Type.Object({ url: Type.String() }) } }),
})
const named = (...paths: string[]) => paths.map((path) => `Unknown field ignored: ${path}`)

test.each<[string, object, object, string[]]>([
  ['nothing unknown', { name: 'a' }, { name: 'a' }, []],
  ['a misspelt field', { name: 'a', nmae: 1 }, { name: 'a' }, ['nmae']],
  ['a nested one', { production: { cpuCores: 1, cpu: 2 } }, { production: { cpuCores: 1 } }, ['production.cpu']],
  ['in an object that may be null', { maybe: { x: 1 } }, { maybe: {} }, ['maybe.x']],
  ['null where it may be', { maybe: null }, { maybe: null }, []],
  ['in a union: unknown to every branch', { choice: { a: '1', b: '2', c: '3' } }, { choice: { a: '1', b: '2' } }, ['choice.c']],
  ['in a list', { items: [{}, { y: 1 }] }, { items: [{}, {}] }, ['items.1.y']],
  ['keys of a map are no fields', { labels: { any: 'x' } }, { labels: { any: 'x' } }, []],
  ['keys that a map does not take', { routes: { web: true, 'W 1': true } }, { routes: { web: true } }, ['routes.W 1']],
  ['free content', { anything: { deep: { x: 1 } } }, { anything: { deep: { x: 1 } } }, []],
  [
    'the config of a kind',
    { kind: 'email', config: { address: 'a', url: 'b' } },
    { kind: 'email', config: { address: 'a' } },
    ['config.url'],
  ],
  [
    'the config of a kind that is not told',
    { config: { address: 'a', url: 'b', z: 1 } },
    { config: { address: 'a', url: 'b' } },
    ['config.z'],
  ],
  ['names of Object itself', { constructor: 1, toString: 2 }, {}, ['constructor', 'toString']],
])('%s', (_, given, left, paths) => {
  expect(dropUnknownFields(Body, given)).toEqual(named(...paths))
  expect(given).toEqual(left)
})

test('ignored fields are removed without a warning, where they are declared and nowhere below', () => {
  const body = { name: 'a', evidence: [], evidance: [], items: [{ evidence: 1 }] }
  const schema = Type.Object({ ...Body.properties }, { 'x-ignored-fields': ['evidence'] })
  expect(dropUnknownFields(schema, body)).toEqual(named('evidance', 'items.0.evidence'))
  expect(body).toEqual({ name: 'a', items: [{}] })
})

test('a value that is not an object has no unknown fields', () => {
  for (const body of [undefined, null, 1, 'text', [1]]) expect(dropUnknownFields(Body, body)).toEqual([])
})

test('the number and length of reported names are limited', () => {
  const body = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`${at}${'x'.repeat(500)}`, 1]))
  const warnings = dropUnknownFields(Body, body)
  expect(warnings).toHaveLength(21)
  expect(warnings.at(-1)).toBe('Unknown fields ignored: 980 more')
  for (const warning of warnings) expect(warning.length).toBeLessThan(250)
})
