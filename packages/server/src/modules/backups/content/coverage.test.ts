import { expect, test } from 'vitest'
import { checkCoverage } from './coverage.ts'

const found = { services: ['', 'db'], volumes: ['data', 'data-restored-1'], ownVolumes: ['data'], savedCount: 1 }
const all = { serviceId: null, payload: { volumes: 'all' as const } }

test.each([
  ['everything is saved', all, found, null],
  ['a project without data', all, { ...found, volumes: [], ownVolumes: [], savedCount: 0 }, null],
  ['only copies are left out', all, { ...found, ownVolumes: [], savedCount: 0 }, null],
  [
    'a service without data of a project that has some',
    { ...all, serviceId: 'db' },
    { ...found, savedCount: 0 },
    /^No data was saved/,
  ],
  ['no volumes are asked for', { ...all, payload: { volumes: [] } }, { ...found, savedCount: 0 }, /^No data was saved/],
  ['one of two volumes is gone', { ...all, payload: { volumes: ['data', 'gone'] } }, found, /^Volumes not found.*: gone\.$/],
])('a run continues, with a warning if data is missing: %s', (_, wanted, seen, warning) => {
  const output = checkCoverage(wanted, seen)
  if (warning === null) expect(output).toBeNull()
  else expect(output).toMatch(warning)
})

test.each([
  ['a service that is gone', { ...all, serviceId: 'cache' }, found],
  ['a service of a project that was never deployed', { ...all, serviceId: 'db' }, { ...found, services: [] }],
  ['volumes that are gone', { ...all, payload: { volumes: ['gone'] } }, { ...found, savedCount: 0 }],
])('a run that finds nothing of its policy fails: %s', (_, wanted, seen) => {
  expect(() => checkCoverage(wanted, seen)).toThrow(expect.objectContaining({ code: 'nothing_found' }))
})
