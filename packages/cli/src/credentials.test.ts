import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connect, saveToken } from './credentials.ts'
import { writeLink } from './project-link.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-credentials-'))
  vi.stubEnv('XDG_CONFIG_HOME', join(folder, 'config'))
  vi.stubEnv('BERTH_URL', undefined)
  vi.stubEnv('BERTH_TOKEN', 'brt_given')
  writeLink(folder, { projectId: 'prj_x', url: 'https://linked.test' })
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

const connected = (words: string[] = []) => {
  const command = new Command().option('--url <address>').parse(words, { from: 'user' })
  const { url, token } = connect(command, folder)
  return { url, token }
}

test('BERTH_TOKEN is not sent to an instance that only the folder names', () => {
  expect(() => connected()).toThrow(/BERTH_URL/)
})

test('BERTH_TOKEN is sent to an instance that was named or signed in to', () => {
  expect(connected(['--url', 'https://named.test'])).toEqual({ url: 'https://named.test', token: 'brt_given' })
  vi.stubEnv('BERTH_URL', 'https://linked.test')
  expect(connected()).toEqual({ url: 'https://linked.test', token: 'brt_given' })
  vi.stubEnv('BERTH_URL', undefined)
  saveToken('https://linked.test', 'brt_kept')
  expect(connected()).toEqual({ url: 'https://linked.test', token: 'brt_given' })
})
