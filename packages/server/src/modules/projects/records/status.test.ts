import { describe, expect, test } from 'vitest'
import type { DeploymentFacts, RunningState } from '../project-ports.ts'
import { type StatusFacts, statusOf } from './status.ts'

const deployment = (number: number, facts: Partial<DeploymentFacts> = {}): DeploymentFacts => ({
  id: `dep_${number}`,
  number,
  status: 'live',
  error: null,
  commit: null,
  sizeBytes: null,
  builtAt: null,
  settings: { configHash: null, resourcesHash: null, sourceHash: null, envVersion: null },
  ...facts,
})
const running = (state: RunningState['state'], reason: string | null = null): RunningState => ({
  state,
  reason,
  startedAt: null,
  instances: 1,
})
const says = (facts: Partial<StatusFacts>) => {
  const { status, statusReason } = statusOf({
    enabled: true,
    isBeingDeleted: false,
    operation: undefined,
    deployments: undefined,
    running: undefined,
    ...facts,
  })
  return [status, statusReason]
}
const [one, two] = [deployment(1), deployment(2)]

describe('the status of a project', () => {
  test('`created`: never deployed', () => {
    expect(says({})[0]).toBe('created')
    const cancelled = { ...one, status: 'cancelled' as const }
    expect(says({ deployments: { newest: cancelled, live: null } })).toEqual(['created', expect.stringContaining('cancelled')])
  })

  test('`deleting` has precedence over `disabled`, and both over all others', () => {
    const facts = { deployments: { newest: one, live: one }, running: running('running') }
    expect(says({ ...facts, isBeingDeleted: true, enabled: false })[0]).toBe('deleting')
    expect(says({ ...facts, enabled: false })[0]).toBe('disabled')
  })

  test.each(['queued', 'building', 'deploying'] as const)('`%s`: the newest deployment is in progress', (status) => {
    const newest = { ...two, status }
    expect(says({ deployments: { newest, live: null } })).toEqual([status, null])
    expect(says({ deployments: { newest, live: one }, running: running('running') })).toEqual([
      status,
      'Deployment 2 is running; deployment 1 is still live',
    ])
  })

  test.each([
    ['running', 'live'],
    ['sleeping', 'sleeping'],
    ['unhealthy', 'unhealthy'],
    ['stopped', 'stopped'],
  ] as const)('a live project in state %s is `%s`', (state, status) => {
    const deployments = { newest: one, live: one }
    expect(says({ deployments, running: running(state, 'the words of the runtime') })).toEqual([
      status,
      'the words of the runtime',
    ])
    expect(says({ deployments, running: running(state) })).toEqual([status, null])
  })

  test('a live deployment without a known state is `stopped`', () => {
    expect(says({ deployments: { newest: one, live: one } })[0]).toBe('stopped')
  })

  test('`failed` with the reason, unless an older deployment is live', () => {
    const newest = { ...two, status: 'failed' as const, error: 'exit code 1' }
    expect(says({ deployments: { newest, live: null } })).toEqual(['failed', 'Deployment 2 failed: exit code 1'])
    expect(says({ deployments: { newest, live: one }, running: running('running') })).toEqual([
      'live',
      'Deployment 2 failed: exit code 1; deployment 1 is still live',
    ])
  })

  test('`stopped`: deployed before, and none is live', () => {
    expect(says({ deployments: { newest: { ...one, status: 'superseded' }, live: null } })[0]).toBe('stopped')
  })
})
