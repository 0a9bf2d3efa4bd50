import type { DeploymentStatus } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { isReferenced, splitByWindow } from './clean-up.ts'

/** Newest first, as the store lists them. */
const rows = (...statuses: DeploymentStatus[]) =>
  statuses.map((status, at) => ({ id: `dep_${statuses.length - at}`, number: statuses.length - at, status }) as DeploymentRow)
const numbers = (all: readonly DeploymentRow[]) => all.map(({ number }) => number).toSorted((a, b) => a - b)

describe('the rollback window', () => {
  const four = rows('live', 'superseded', 'superseded', 'superseded')

  test('keeps the live deployment without counting it', () => {
    const { keep, remove } = splitByWindow(four, 2)
    expect([numbers(keep), numbers(remove)]).toEqual([[2, 3, 4], [1]])
  })

  test('keeps only the live deployment if the window is 0', () => {
    expect(numbers(splitByWindow(four, 0).keep)).toEqual([4])
  })

  test('removes nothing if the window is larger than the number of deployments', () => {
    expect(splitByWindow(four, 20).remove).toEqual([])
  })

  test('keeps the newest other deployments after a rollback made an older one live', () => {
    const { keep, remove } = splitByWindow(rows('superseded', 'live', 'superseded', 'superseded'), 1)
    expect([numbers(keep), numbers(remove)]).toEqual([
      [3, 4],
      [1, 2],
    ])
  })

  test('applies if no deployment is live yet', () => {
    expect(numbers(splitByWindow(rows('superseded', 'superseded'), 1).keep)).toEqual([2])
  })
})

describe('an artifact that no kept deployment names', () => {
  const image = { reference: 'berth-a/prj_a:dep_a.web' }
  const other = { reference: 'berth-a/prj_a:dep_a.counter' }
  const artifacts = JSON.stringify({ web: { kind: 'image', sizeBytes: 1, startCommand: null, ...image } })

  test('is kept while its deployment is in progress, even if the row does not name it', () => {
    for (const status of ['queued', 'building', 'deploying'] as const) {
      expect(isReferenced(image, { id: 'dep_a', status, artifacts: null })).toBe(true)
      expect(isReferenced(other, { id: 'dep_a', status, artifacts })).toBe(true)
    }
  })

  test('is removed if its deployment failed, was cancelled or is unknown', () => {
    for (const status of ['failed', 'cancelled'] as const)
      expect(isReferenced(image, { id: 'dep_a', status, artifacts })).toBe(false)
    expect(isReferenced(image, undefined)).toBe(false)
  })

  test('is kept if its deployment went live and names it, and removed if the deployment names another image', () => {
    for (const status of ['live', 'superseded'] as const) {
      expect(isReferenced(image, { id: 'dep_a', status, artifacts })).toBe(true)
      expect(isReferenced(other, { id: 'dep_a', status, artifacts })).toBe(false)
    }
  })

  test('is removed if its deployment is outside the window and names no artifacts', () => {
    expect(isReferenced(image, { id: 'dep_a', status: 'superseded', artifacts: null })).toBe(false)
  })
})
