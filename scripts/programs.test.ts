import { afterEach, expect, test, vi } from 'vitest'
// @ts-expect-error a program without types
import { showProgress } from './programs.mjs'

afterEach(() => void vi.useRealTimers())

test('without a terminal a slow step prints a line every 15 seconds, and none after its end', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const lines: string[] = []
  const end = showProgress('installing packages', { isTerminal: false, write: (text: string) => lines.push(text) > 0 })
  vi.advanceTimersByTime(31_000)
  end()
  vi.advanceTimersByTime(60_000)
  expect(lines).toEqual(['installing packages…\n', 'installing packages… 15 s\n', 'installing packages… 30 s\n'])
})

test('on a terminal one line counts the seconds and is cleared at the end', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const written: string[] = []
  const end = showProgress('building', { isTerminal: true, write: (text: string) => written.push(text) > 0 })
  vi.advanceTimersByTime(2_000)
  end()
  expect(written).toEqual(['\rbuilding… 0 s', '\rbuilding… 1 s', '\rbuilding… 2 s', '\r\x1b[K'])
})
