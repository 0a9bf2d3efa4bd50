import { expect, test } from 'vitest'
import { read } from './compose/compose-case.ts'
import { leadsOutside } from './leads-outside.ts'

test.each(['..', '../a', '/', '/etc'])('%s leads outside', (path) => expect(leadsOutside(path)).toBe(true))

test.each(['', '.', 'a', '..data', '..data/a', '...'])('%j stays inside', (path) => expect(leadsOutside(path)).toBe(false))

test('a Compose file may mount a folder whose name begins with two dots', () => {
  const file = read('services:\n  web:\n    image: nginx\n    volumes: ["./..data:/data"]\n')
  expect(file.refused).toEqual([])
  expect(file.services[0]?.volumes).toMatchObject([{ type: 'bind', source: '..data', target: '/data' }])
})
