import type { DeletionItem } from '@berth/contract'
import { expect, test } from 'vitest'
import { deletionLines } from './deletion-lines.ts'

const item = (kind: string, name: string, more: Partial<DeletionItem> = {}): DeletionItem => ({
  ...{ kind, name, id: name, sizeBytes: null, kept: false },
  ...more,
})
const volume = item('volume', 'data', { sizeBytes: 12_000, kept: true, reason: 'volumes are kept unless deleteVolumes=true' })
const items = [
  item('project', 'Shop'),
  item('logs', 'logs'),
  item('instance', 'app'),
  item('folder', 'dep_1', { sizeBytes: 1000 }),
  item('static', 'dep_2', { sizeBytes: 2000 }),
  item('backup policy', '0 3 * * *'),
  item('variable', 'DATABASE_URL'),
  item('variable', 'PORT'),
  volume,
  item('folder', 'shop', { kept: true, reason: 'It is your own folder; Berth only reads it' }),
]

test('kept items come first, builds and variables are one line each, and schedules are in plain text', () => {
  expect(deletionLines(items, false)).toEqual([
    { id: 'volume data', text: 'Volume data · 12.0\u00a0kB', isKept: true },
    { id: 'folder shop', text: 'Your folder shop', isKept: true },
    { id: 'project Shop', text: 'Project Shop', isKept: false },
    { id: 'logs logs', text: 'Logs', isKept: false },
    { id: 'instance app', text: 'Running instance of app', isKept: false },
    { id: 'backup policy 0 3 * * *', text: 'Backup policy: every night at 03:00', isKept: false },
    { id: 'builds', text: '2 builds · 3.0\u00a0kB', isKept: false },
    { id: 'variables', text: '2 variables', isKept: false },
  ])
})

test('rules are named like in the rest of the dashboard', () => {
  const rules = ['rate-limit', 'ban', 'allow-deny'].map((kind) => item('route rule', kind))
  expect(deletionLines(rules, false).map(({ text }) => text)).toEqual(['Rate limit', 'Block rule', 'Allow or refuse rule'])
})

test('volumes are removed on request, except those that existed before the project', () => {
  const adopted = { ...volume, id: 'old', reason: 'The volume pgdata existed on the server before the project and is kept' }
  expect(deletionLines([volume, adopted], true).map(({ isKept }) => isKept)).toEqual([true, false])
})
