import { format, inspect } from 'node:util'
import { expect, test } from 'vitest'
import { Secret } from './secret.ts'

test('a secret is printed as [secret] in every way', () => {
  const secret = new Secret('hunter2hunter2')
  const prints = [
    String(secret),
    `${secret}`,
    `${secret}`.concat(''),
    JSON.stringify({ secret }),
    JSON.stringify([secret]),
    inspect(secret),
    inspect({ deep: { er: [secret] } }, { depth: 9, showHidden: true, getters: true }),
    format('%s %o %O %j', secret, secret, secret, secret),
    JSON.stringify({ ...secret }),
    Object.values(secret).join(),
  ]
  for (const print of prints) expect(print).not.toContain('hunter2')
  expect(prints.slice(0, 3)).toEqual(['[secret]', '[secret]', '[secret]'])
  expect(prints[3]).toBe('{"secret":"[secret]"}')
})

test('only reveal returns the value', () => {
  expect(new Secret('hunter2hunter2').reveal()).toBe('hunter2hunter2')
})
