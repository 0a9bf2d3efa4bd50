import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hashOf, ProjectUsers } from './project-users.ts'

const isRoot = process.getuid?.() === 0

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-users-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = () => new ProjectUsers(join(folder, 'users'), join(folder, 'homes'))

/** Two projects that would have had the same user when the number was only made from the name. */
function colliding(): [one: string, other: string] {
  const seen = new Map<number, string>()
  for (let at = 0; ; at += 1) {
    const id = `prj_${at}`
    const before = seen.get(hashOf(id))
    if (before !== undefined) return [before, id]
    seen.set(hashOf(id), id)
  }
}

test('two projects never have the same user, and each keeps its user after restarts', () => {
  const [one, other] = colliding()
  const before = open()
  const users = [before.userIdOf(one), before.userIdOf(other)]
  expect(users[0]).toBe(0x10000000 + hashOf(one))
  expect(users[1]).not.toBe(users[0])
  // In another order, as after a restart.
  const after = open()
  expect([after.userIdOf(other), after.userIdOf(one)]).toEqual(users.toReversed())
})

test('ten thousand projects have distinct users, outside the range of the machine', () => {
  const users = open()
  const given = new Set(Array.from({ length: 10_000 }, (_, at) => users.userIdOf(`prj_${at}`)))
  expect(given.size).toBe(10_000)
  for (const user of given) expect(user >= 0x10000000 && user < 0x20000000).toBe(true)
})

test('concurrent requests on one folder never get the same user', () => {
  const [one, other] = colliding()
  const [here, there] = [open(), open()]
  here.userIdOf('prj_x')
  there.userIdOf('prj_x')
  expect(here.userIdOf(one)).not.toBe(there.userIdOf(other))
  expect(there.userIdOf(one)).toBe(here.userIdOf(one))
})

test.skipIf(!isRoot)('a project keeps a user from before users were recorded, also against a new project', () => {
  const [one, other] = colliding()
  const home = join(folder, 'homes', other)
  mkdirSync(home, { recursive: true })
  chownSync(home, 0x10000000 + hashOf(other), 0)
  const users = open()
  expect(users.userIdOf(one)).not.toBe(0x10000000 + hashOf(one))
  expect(users.userIdOf(other)).toBe(0x10000000 + hashOf(other))
})
