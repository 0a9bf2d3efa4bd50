import { expect, test } from 'vitest'
import { type RestoreWithSafetyRun, sortSafetyRuns } from './undo-points.ts'

const restore = (preRestoreRunId: string, changes: Partial<RestoreWithSafetyRun>): RestoreWithSafetyRun => ({
  preRestoreRunId,
  status: 'succeeded',
  dataState: 'restored',
  finishedAt: 1,
  ...changes,
})

test.each<[string, Partial<RestoreWithSafetyRun>, 'undoPoints' | 'unneeded' | undefined, boolean]>([
  ['that succeeded', {}, 'undoPoints', true],
  ['whose previous data could not be put back', { status: 'failed', dataState: 'partly_written' }, 'undoPoints', true],
  ['that failed and was undone', { status: 'failed', dataState: 'undone' }, 'unneeded', false],
  ['that was cancelled and undone', { status: 'cancelled', dataState: 'undone' }, 'unneeded', false],
  ['that was cancelled before it wrote', { status: 'cancelled', dataState: 'untouched' }, 'unneeded', false],
  ['that writes', { status: 'applying', dataState: 'partly_written', finishedAt: null }, undefined, true],
  ['that is being undone', { status: 'cancelled', dataState: 'partly_written', finishedAt: null }, undefined, true],
])('the safety run of a restore %s', (_, changes, list, isNeeded) => {
  const sorted = sortSafetyRuns([{ id: 'run' }], [restore('run', changes)])
  expect([sorted.undoPoints.length, sorted.unneeded.length]).toEqual([list === 'undoPoints' ? 1 : 0, list === 'unneeded' ? 1 : 0])
  expect(sorted.needed.has('run')).toBe(isNeeded)
})
test('the newest undo point is needed; a run before a deployment is an undo point too', () => {
  const restores = [restore('c', { status: 'cancelled', dataState: 'undone' }), restore('b', {}), restore('a', {})]
  const sorted = sortSafetyRuns([{ id: 'deploy' }, { id: 'c' }, { id: 'b' }, { id: 'a' }], restores)
  expect(sorted.undoPoints.map(({ id }) => id)).toEqual(['deploy', 'b', 'a'])
  expect([...sorted.needed]).toEqual(['b'])
})
