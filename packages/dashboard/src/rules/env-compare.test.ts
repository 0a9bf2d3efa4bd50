import { type EnvVariable, secretMask } from '@berth/contract'
import { expect, test } from 'vitest'
import { compareEnvironments, copyableToRight } from './env-compare.ts'

const plain = (key: string, value: string): EnvVariable => ({
  ...{ key, value, isSecret: false, environment: 'production', updatedAt: '2026-05-01T12:00:00Z' },
})
const secret = (key: string): EnvVariable => ({ ...plain(key, secretMask), isSecret: true })

test('two environments are compared by name; secrets are never called equal', () => {
  const left = [plain('A', '1'), plain('B', '1'), plain('C', '1'), secret('S'), secret('T')]
  const right = [plain('B', '1'), plain('C', '2'), secret('S'), plain('D', '4')]
  const compared = compareEnvironments(left, right)
  expect(compared.map(({ key, comparison }) => `${key} ${comparison}`)).toEqual([
    'A onlyLeft',
    'B same',
    'C different',
    'D onlyRight',
    'S secret',
    'T onlyLeft',
  ])
  expect(copyableToRight(compared).map(({ key }) => key)).toEqual(['A', 'C'])
})
