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

  test('what is live stays and does not use up the window', () => {
    const { keep, remove } = splitByWindow(four, 2)
    expect([numbers(keep), numbers(remove)]).toEqual([[2, 3, 4], [1]])
  })

  test('a window of 0 keeps only what is live', () => {
    expect(numbers(splitByWindow(four, 0).keep)).toEqual([4])
  })

  test('a window that is larger than what there is removes nothing', () => {
    expect(splitByWindow(four, 20).remove).toEqual([])
  })

  test('after a rollback the live one may be older than others: the newest of the rest stay', () => {
    const { keep, remove } = splitByWindow(rows('superseded', 'live', 'superseded', 'superseded'), 1)
    expect([numbers(keep), numbers(remove)]).toEqual([
      [3, 4],
      [1, 2],
    ])
  })

  test('where nothing is live yet, the window still counts', () => {
    expect(numbers(splitByWindow(rows('superseded', 'superseded'), 1).keep)).toEqual([2])
  })
})

describe('what was built and is named by no deployment that is kept', () => {
  const image = { reference: 'berth-a/prj_a:dep_a.web' }
  const other = { reference: 'berth-a/prj_a:dep_a.counter' }
  const artifacts = JSON.stringify({ web: { kind: 'image', sizeBytes: 1, startCommand: null, ...image } })

  test('is left alone while its deployment is under way, whatever the row says by now', () => {
    for (const status of ['queued', 'building', 'deploying'] as const) {
      expect(isReferenced(image, { id: 'dep_a', status, artifacts: null })).toBe(true)
      expect(isReferenced(other, { id: 'dep_a', status, artifacts })).toBe(true)
    }
  })

  test('goes with a deployment that failed, was cancelled or is unknown', () => {
    for (const status of ['failed', 'cancelled'] as const)
      expect(isReferenced(image, { id: 'dep_a', status, artifacts })).toBe(false)
    expect(isReferenced(image, undefined)).toBe(false)
  })

  test('stays where its deployment went live meanwhile and speaks of it, and goes where another image took its place', () => {
    for (const status of ['live', 'superseded'] as const) {
      expect(isReferenced(image, { id: 'dep_a', status, artifacts })).toBe(true)
      expect(isReferenced(other, { id: 'dep_a', status, artifacts })).toBe(false)
    }
  })

  test('goes where its deployment is out of the window, which is why its row speaks of nothing', () => {
    expect(isReferenced(image, { id: 'dep_a', status: 'superseded', artifacts: null })).toBe(false)
  })
})
