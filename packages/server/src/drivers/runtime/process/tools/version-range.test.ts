import { describe, expect, test } from 'vitest'
import { allows, isExact, type Version, versionOf } from './version-range.ts'

describe('a version range', () => {
  test.each([
    ['22', ['22.0.0', '22.21.3'], ['21.9.9', '23.0.0']],
    ['v22.1.0', ['22.1.0'], ['22.1.1', '22.0.9']],
    ['=22.1.0', ['22.1.0'], ['22.1.1']],
    ['22.x', ['22.9.0'], ['24.0.0']],
    ['22.3', ['22.3.7'], ['22.4.0']],
    ['^20.9.0', ['20.9.0', '20.19.1'], ['20.8.9', '21.0.0']],
    ['^0.2.3', ['0.2.4'], ['0.3.0', '0.2.2']],
    ['^0.0.3', ['0.0.3'], ['0.0.4']],
    ['~1.22.3', ['1.22.9'], ['1.23.0']],
    ['~1', ['1.99.0'], ['2.0.0']],
    ['>=18', ['18.0.0', '99.0.0'], ['17.9.9']],
    ['>18', ['19.0.0'], ['18.9.9']],
    ['>18.1.0', ['18.1.1'], ['18.1.0']],
    ['<=20', ['20.9.9'], ['21.0.0']],
    ['<20', ['19.9.9'], ['20.0.0']],
    ['>= 18 < 23', ['18.0.0', '22.9.9'], ['23.0.0']],
    ['>=9 <11', ['9.0.0', '10.34.8'], ['11.0.0', '8.9.9']],
    ['18 || ^20.1.0 || >=22', ['18.5.0', '20.1.0', '24.0.0'], ['19.0.0', '20.0.9', '21.0.0']],
    ['18 - 20', ['18.0.0', '20.9.9'], ['21.0.0']],
    ['1.2.3 - 2.3.4', ['2.3.4'], ['2.3.5']],
    ['>=3.8,<4', ['3.12.1'], ['4.0.0']],
    ['*', ['0.0.1', '99.9.9'], []],
    ['', ['1.0.0'], []],
    ['x', ['1.0.0'], []],
  ] as [string, string[], string[]][])('%s', (range, inside, outside) => {
    for (const text of inside) expect([text, allows(range, versionOf(text) as Version)]).toEqual([text, true])
    for (const text of outside) expect([text, allows(range, versionOf(text) as Version)]).toEqual([text, false])
  })

  test.each(['lts/iron', 'latest', '>=', 'workspace:*', '1.2.3.4', '22 || what', '1.2.3-beta.1', '~=3.10', '==3.11.*'])(
    '%s is not a valid range',
    (range) => {
      expect(allows(range, [1, 0, 0])).toBeNull()
    },
  )

  test('is exact only if it names one version', () => {
    expect(['9.1.0', 'v22.1.0', '=1.2.3'].map(isExact)).toEqual([true, true, true])
    expect(['9', '^9.1.0', '*', '1.x', '1.2.3-beta.1'].map(isExact)).toEqual([false, false, false, false, false])
  })
})
