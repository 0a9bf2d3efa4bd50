import { expect, test } from 'vitest'
import { volumeWarnings } from './volume-warnings.ts'

const volumes = [{ name: 'data' }, { name: 'logs' }]

test('volumes of a static site and of a Compose project are named as not mounted; a program mounts its own', () => {
  expect(volumeWarnings(volumes, { type: 'static' })).toEqual([
    expect.stringMatching(/not mounted \(data, logs\): a static site runs no program\./),
  ])
  expect(volumeWarnings(volumes, { type: 'services' })).toEqual([expect.stringContaining('Compose file')])
  expect(volumeWarnings(volumes, { type: 'app' })).toEqual([])
  expect(volumeWarnings([], { type: 'static' })).toEqual([])
})
