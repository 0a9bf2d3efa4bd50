import { expect, test } from 'vitest'
import { newId } from './ids.ts'

test('an id is its prefix and 20 characters of a-z2-7', () => {
  expect(newId('prj')).toMatch(/^prj_[a-z2-7]{20}$/)
})

test('ids use the whole alphabet and do not repeat', () => {
  const ids = Array.from({ length: 2000 }, () => newId('dep').slice(4))
  expect(new Set(ids).size).toBe(2000)
  expect(new Set(ids.join('')).size).toBe(32)
})
