import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../tests/kit/temp-folder.ts'

const folder = join(import.meta.dirname, '../../../docs/monitoring')
const alerts = readFileSync(join(folder, 'alerts.yml'), 'utf8')
const dashboard = readFileSync(join(folder, 'grafana-dashboard.json'), 'utf8')

test('the alert rules are accepted by promtool', (context) => {
  const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', join(folder, 'alerts.yml')], {
    encoding: 'utf8',
  })
  if (error) context.skip('promtool is not installed')
  expect({ status, output: stdout + stderr }).toMatchObject({
    status: 0,
    output: expect.stringMatching(/SUCCESS: \d+ rules found/),
  })
})

test('every query of the Grafana dashboard is accepted by promtool', async (context) => {
  const expressions = [...queriesIn(JSON.parse(dashboard))].map((query) =>
    query.replaceAll(/\$__\w+/g, '5m').replaceAll(/\$\w+/g, 'x'),
  )
  expect(expressions.length).toBeGreaterThan(3)
  const rules = expressions.map((expr, at) => ({ record: `berth:query${at}`, expr }))
  await using temporary = await tempFolder('dashboard')
  const file = join(temporary.path, 'rules.json')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
  const { error, status, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
  if (error) context.skip('promtool is not installed')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test('alerts and dashboard use only metrics that the documentation lists', () => {
  const documented = readFileSync(join(folder, '../monitoring.md'), 'utf8')
  const names = new Set(
    [...`${alerts}${dashboard}`.matchAll(/\bberth_[a-z0-9_]+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, '')),
  )
  expect(names.size).toBeGreaterThan(5)
  const unknown = [...names].filter((name) => !documented.includes(name) && !isAbbreviated(name, documented))
  expect(unknown).toEqual([])
})

/** The table of metrics writes `a_b_c`, `_d` for `a_b_c` and `a_b_d`, with the ends of several lengths. */
const isAbbreviated = (name: string, documented: string): boolean =>
  [...name.matchAll(/_/g)].some(({ index }) => documented.includes(`\`${name.slice(index)}\``))

function* queriesIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'expr' && typeof inner === 'string') yield inner
    else yield* queriesIn(inner)
  }
}
