import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProgressDeadline } from './progress-deadline.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())
const never = new AbortController().signal

test('work that reports progress goes on, and is aborted when it falls silent', () => {
  using deadline = new ProgressDeadline(1_000, never)
  for (let count = 0; count < 5; count++) {
    vi.advanceTimersByTime(900)
    deadline.progress()
  }
  expect([deadline.isOver, deadline.signal.aborted]).toEqual([false, false])
  vi.advanceTimersByTime(1_000)
  expect([deadline.isOver, deadline.signal.aborted]).toEqual([true, true])
})

test('a caller that gives up aborts the work, and the deadline is not over', () => {
  const caller = new AbortController()
  using deadline = new ProgressDeadline(1_000, caller.signal)
  caller.abort()
  expect([deadline.isOver, deadline.signal.aborted]).toEqual([false, true])
})
