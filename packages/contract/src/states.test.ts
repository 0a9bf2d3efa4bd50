import { describe, expect, test } from 'vitest'
import {
  canTransition,
  deploymentTransitions,
  environmentTransitions,
  restoreTransitions,
  runTransitions,
  settledDeployment,
  sourcesOf,
  type Transitions,
  terminalDeployment,
  terminalRestore,
  terminalRun,
  terminalStatuses,
  tlsTransitions,
} from './states.ts'

const machines: [name: string, moves: Transitions<string>, start: string, ends: ReadonlySet<string>][] = [
  ['run', runTransitions, 'queued', terminalRun],
  ['restore', restoreTransitions, 'staged', terminalRestore],
  ['deployment', deploymentTransitions, 'queued', terminalDeployment],
]

describe.each(machines)('the %s machine', (_, moves, start, ends) => {
  test('a terminal status is final, and only those are', () => {
    for (const from of Object.keys(moves)) {
      const leaves = Object.keys(moves).some((to) => canTransition(moves, from, to))
      expect([from, leaves]).toEqual([from, !ends.has(from)])
    }
  })

  test('every status is reachable from the first one, and none moves to itself', () => {
    const reached = new Set([start])
    for (const from of reached) for (const to of moves[from] ?? []) reached.add(to)
    expect([...reached].sort()).toEqual(Object.keys(moves).sort())
    for (const status of Object.keys(moves)) expect(canTransition(moves, status, status)).toBe(false)
  })

  test('every status except live and the terminal ones can move to failed', () => {
    const open = Object.keys(moves).filter((status) => !ends.has(status) && status !== 'live')
    expect(sourcesOf(moves, 'failed').sort()).toEqual(open.sort())
  })
})

const withoutEnd: [name: string, moves: Transitions<string>, start: string][] = [
  ['environment', environmentTransitions, 'live'],
  ['certificate', tlsTransitions, 'none'],
]

test.each(withoutEnd)(
  'every state of the %s machine is reachable and can be left, and none moves to itself',
  (_, moves, start) => {
    const reached = new Set([start])
    for (const from of reached) for (const to of moves[from] ?? []) reached.add(to)
    expect([...reached].sort()).toEqual(Object.keys(moves).sort())
    for (const [state, next] of Object.entries(moves)) expect([next.length > 0, next.includes(state)]).toEqual([true, false])
  },
)

test('a certificate is ordered only if there is none or the last order failed', () => {
  expect(sourcesOf(tlsTransitions, 'pending')).toEqual(['none', 'error'])
})

test('only a live environment can be put to sleep or be found stopped after a start', () => {
  expect(sourcesOf(environmentTransitions, 'waking')).toEqual(['live'])
})

test('terminal statuses of runs and restores: succeeded, failed, cancelled, server_error', () => {
  expect([...terminalStatuses]).toEqual(['succeeded', 'failed', 'cancelled', 'server_error'])
  expect([...terminalRun].sort()).toEqual([...terminalStatuses].sort())
  expect([...terminalRestore].sort()).toEqual([...terminalStatuses].sort())
})

test('a restore that is staged or in flight can be cancelled', () => {
  expect(sourcesOf(restoreTransitions, 'cancelled')).toEqual(['staged', 'applying'])
})

test('succeeded is reached only from the last step', () => {
  expect(sourcesOf(runTransitions, 'succeeded')).toEqual(['verifying'])
  expect(sourcesOf(restoreTransitions, 'succeeded')).toEqual(['applying'])
  expect(sourcesOf(deploymentTransitions, 'live')).toEqual(['deploying'])
})

test('a deployment is settled when it is live or has ended', () => {
  expect([...settledDeployment].sort()).toEqual(['cancelled', 'failed', 'live', 'superseded'])
})
