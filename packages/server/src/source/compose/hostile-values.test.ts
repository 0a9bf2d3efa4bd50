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
]
const anything = fc.anything({
  maxDepth: 3,
  maxKeys: 4,
  withBigInt: true,
  key: fc.constantFrom(...keys, 'source', 'target', 'type', 'file', 'path', 'test'),
})
const top = fc.constantFrom('services', 'volumes', 'networks', 'secrets', 'configs', 'include', 'name')

test('any value in any field is read, warned about or refused, and never thrown over', () => {
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

test('any text is a file or a refusal', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:&*!|>\'"%@`,?-#<$~ab1 \n\t') }), (text) => {
      expect(readCompose(text, { folder: '/srv/shop' }).refused.length).toBeGreaterThan(0)
    }),
    { numRuns: 300 },
  )
})
