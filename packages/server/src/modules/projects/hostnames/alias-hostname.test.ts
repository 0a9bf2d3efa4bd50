import { expect, test } from 'vitest'
import { aliasHostname, slugsBehindAlias } from './hostnames.ts'

const base = 'apps.example.com'

test.each([
  ['an environment', `pr-7.shop.${base}`, `pr-7--shop.${base}`],
  ['a service of an environment', `api.pr-7.shop.${base}`, `api--pr-7--shop.${base}`],
  ['a project has one label already', `shop.${base}`, null],
  ['the base domain', base, null],
  ['another domain', 'pr-7.shop.example.com', null],
  ['a label that contains the separator would be ambiguous', `a.b--c.${base}`, null],
  ['a label that DNS reserves', `xn.shop.${base}`, null],
  ['a label of more than 63 characters', `${'a'.repeat(40)}.${'b'.repeat(40)}.${base}`, null],
])('the alias of %s', (_, hostname, alias) => {
  expect(aliasHostname(hostname, base)).toBe(alias)
})

test('the slugs whose alias a slug could be', () => {
  expect(slugsBehindAlias('shop')).toEqual([])
  expect(slugsBehindAlias('api--pr-7--shop')).toEqual(['pr-7--shop', 'shop'])
})
