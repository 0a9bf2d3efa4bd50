import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readCompose } from './read-compose.ts'
import { refusedFields } from './refused-fields.ts'
import { fieldsWithoutEffect, serviceFields } from './service-fields.ts'

const keys = [
  ...Object.keys(serviceFields),
  ...Object.keys(refusedFields),
  ...Object.keys(fieldsWithoutEffect),
  'extends',
  '__proto__',
  'toString',
]
const anything = fc.anything({
  maxDepth: 3,
  maxKeys: 4,
  withBigInt: true,
  key: fc.constantFrom(...keys, 'source', 'target', 'type', 'file', 'path', 'test'),
})
const top = fc.constantFrom('services', 'volumes', 'networks', 'secrets', 'configs', 'include', 'name')

test('any value in any field is read, warned about or refused, without an exception', () => {
  const file = fc.record({
    services: fc.dictionary(
      fc.constantFrom('web', 'db', '__proto__'),
      fc.dictionary(fc.constantFrom(...keys), anything, { maxKeys: 6 }),
    ),
    rest: fc.dictionary(top, anything, { maxKeys: 3 }),
  })
  fc.assert(
    fc.property(file, ({ services, rest }) => {
      const text = stringify({ services, ...rest }, { aliasDuplicateObjects: false })
      const read = readCompose(text, { folder: '/srv/shop' })
      for (const service of read.services)
        for (const mount of service.volumes) {
          expect(mount.target).toMatch(/^\/./)
          if (mount.type === 'bind') expect(mount.source).not.toMatch(/^(\/|~|\.\.)/)
        }
    }),
    { numRuns: 300 },
  )
})

test.each([
  ['cap_add: [{ toString: x }]', 'services.web.cap_add.0'],
  ['security_opt: [{ toString: x }]', 'services.web.security_opt.0'],
])('%s is refused, and its toString is not called', (line, path) => {
  const { refused } = readCompose(`services: { web: { image: a, ${line} } }`, { folder: '/srv/shop' })
  expect(refused).toMatchObject([{ path }])
})

test('toString of a mapping in an extended list of variables is not called', () => {
  const text = `services:
  base: { image: a, environment: [{ toString: x }, A=1] }
  web: { extends: base, environment: { B: "2" } }`
  const { services } = readCompose(text, { folder: '/srv/shop' })
  expect(services[1]).toMatchObject({ name: 'web', environment: { A: '1', B: '2' } })
})

test('any text is read or refused, without an exception', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:&*!|>\'"%@`,?-#<$~ab1 \n\t') }), (text) => {
      expect(readCompose(text, { folder: '/srv/shop' }).refused.length).toBeGreaterThan(0)
    }),
    { numRuns: 300 },
  )
})
