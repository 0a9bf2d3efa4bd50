import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errors } from './errors.ts'

const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
const entries = page
  .split(/^(?=- `)/m)
  .map((item) => /^- `(\w+)` \((\d+)\): (.+) Remedy: ([^#]+)/.exec(item.replace(/\s+/g, ' ')))
  .filter((found) => found !== null)
  .map(([, code, status, meaning, remedy]) => ({ code, status: Number(status), meaning, remedy: remedy?.trim() }))

test('docs/errors.md has one entry for every error code, with its status', () => {
  const listed = entries.map(({ code, status }) => [code, status])
  expect(listed.toSorted()).toEqual(
    Object.entries(errors)
      .map(([code, [status]]) => [code, status])
      .toSorted(),
  )
})

test.each(entries)('$code: the meaning and the remedy are sentences', ({ meaning, remedy }) => {
  for (const text of [meaning, remedy]) expect(text).toMatch(/^[A-Z].*\.$/)
})
