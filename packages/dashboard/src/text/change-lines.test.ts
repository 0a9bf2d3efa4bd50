import { expect, test } from 'vitest'
import { changeLines } from './change-lines.ts'

const commit = (sha: string) => ({ sha, message: 'fix: carts\n\nlong', author: null })
const none = { added: [], changed: [], removed: [] }
const previous = { id: 'dep_1', number: 1, commit: commit('aaaaaaaaaa') }

test('the text of a deployment lists the changes, or says that there are none', () => {
  const settings = [
    { name: 'port', from: '3000', to: '8080' },
    { name: 'volumes', from: null, to: null },
  ]
  expect(changeLines({ previous, variables: { ...none, added: ['KEY'] }, settings }, commit('bbbbbbbbbb'))).toEqual([
    { name: 'Commit', values: ['aaaaaaa → bbbbbbb fix: carts'] },
    { name: 'Variables added', values: ['KEY'] },
    { name: 'Settings', values: ['port: 3000 → 8080', 'volumes changed'] },
  ])
  expect(changeLines({ previous, variables: none, settings: [] }, commit('aaaaaaaaaa'))).toEqual([])
})
