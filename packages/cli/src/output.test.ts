import { Command } from 'commander'
import { afterEach, expect, test, vi } from 'vitest'
import { output } from './output.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test('escape sequences in quoted foreign text do not reach the terminal', () => {
  vi.stubEnv('NO_COLOR', '1')
  const written: string[] = []
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  const { result, note, problem } = output(new Command())
  const hostile = 'a\x1b[2J\x1bc\x9b2Jb'
  result({}, () => hostile)
  note(hostile)
  problem({ message: hostile, field: hostile })
  expect(written).toEqual(['ab\n', 'ab\n', 'error: ab\n  field: ab\n'])
})
