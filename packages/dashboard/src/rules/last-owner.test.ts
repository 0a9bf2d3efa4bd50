import type { Member, Role } from '@berth/contract'
import { expect, test } from 'vitest'
import { isLastOwner } from './last-owner.ts'

const member = (userId: string, role: Role): Member => ({
  userId,
  email: `${userId}@example.test`,
  name: null,
  role,
  joinedAt: '',
})
const ann = member('ann', 'owner')

test('the only owner is the last one', () => {
  expect(isLastOwner([ann, member('bob', 'admin')], ann)).toBe(true)
})

test('neither one of two owners nor a member is the last owner', () => {
  const bob = member('bob', 'owner')
  expect(isLastOwner([ann, bob], bob)).toBe(false)
  expect(isLastOwner([ann], member('cat', 'member'))).toBe(false)
})

test('no member counts as the last owner if the list may have another page', () => {
  const others = Array.from({ length: 99 }, (_, at) => member(`m${at}`, 'member'))
  expect(isLastOwner([ann, ...others], ann)).toBe(false)
})
