import { describe, expect, test } from 'vitest'
import { missingMessage, missingProgramIn } from './missing-tool.ts'

describe('a missing program', () => {
  test.each([
    ['go: No such file or directory', 'go'],
    ['go: no such program', 'go'],
    ['/bin/sh: 1: poetry: not found', 'poetry'],
    ['sh: 1: vite: not found', 'vite'],
    ['sh: line 1: cargo: command not found', 'cargo'],
    ['bash: bundle: command not found', 'bundle'],
    ["/usr/bin/env: 'php': No such file or directory", 'php'],
    ['env: ‘dotnet’: No such file or directory', 'dotnet'],
  ])('is recognised in %s', (line, program) => {
    expect(missingProgramIn(['> app@1.0.0 build', line, ''])).toBe(program)
  })

  test('is not recognised in other messages', () => {
    expect(missingProgramIn(['Error: module ./x not found', 'page not found', "cat: notes.txt: can't open"])).toBeNull()
  })

  test('is reported with the remedy', () => {
    expect(missingMessage('go')).toBe(
      'This project needs Go (`go`), which is not installed on this machine. Install it, or use Docker',
    )
    expect(missingMessage('vite')).toContain('dependencies')
  })
})
