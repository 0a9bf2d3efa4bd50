import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProgressDeadline } from './progress-deadline.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())
const neverAborted = new AbortController().signal

test('work that reports progress continues, and is aborted at the deadline without progress', () => {
  using deadline = new ProgressDeadline(1_000, neverAborted)
  for (let count = 0; count < 5; count++) {
    vi.advanceTimersByTime(900)
    deadline.progress()
  }
  expect([deadline.isOver, deadline.signal.aborted]).toEqual([false, false])
  vi.advanceTimersByTime(1_000)
  expect([deadline.isOver, deadline.signal.aborted]).toEqual([true, true])
})

test('an abort of the caller aborts the work without expiring the deadline', () => {
  const caller = new AbortController()
  using deadline = new ProgressDeadline(1_000, caller.signal)
  caller.abort()
  expect([deadline.isOver, deadline.signal.aborted]).toEqual([false, true])
})
