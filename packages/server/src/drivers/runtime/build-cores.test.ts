import { expect, test } from 'vitest'
import { buildCores } from './build-cores.ts'

test.each([
  ['0-7', '1-7'],
  ['0-1', '1'],
  ['0', null],
  ['2,5', '5'],
  ['3-4,9', '4,9'],
  ['0,2-3', '2-3'],
])('builds get a share of %s cores: %s', (allowed, cores) => {
  expect(buildCores(() => `Name:\tnode\nCpus_allowed_list:\t${allowed}\nMems_allowed:\t1\n`)).toBe(cores)
})

test('builds are not limited if the kernel reports no cores', () => {
  const absent = () => {
    throw new Error('no such file')
  }
  expect([buildCores(absent), buildCores(() => 'Name:\tnode\n')]).toEqual([null, null])
})
