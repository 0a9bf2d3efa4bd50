// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { expect, test } from 'vitest'
import { interpolate } from './interpolate.ts'

const env = { SET: 'x', EMPTY: '', OTHER: 'y' }

test.each([
  ['plain', 'plain'],
  ['$SET', 'x'],
  ['${SET}', 'x'],
  ['a${SET}b$OTHER.c', 'axby.c'],
  ['$$SET', '$SET'],
  ['$$$SET', '$x'],
  ['${GONE:-default}', 'default'],
  ['${EMPTY:-default}', 'default'],
  ['${EMPTY-default}', ''],
  ['${GONE-default}', 'default'],
  ['${SET:-default}', 'x'],
  ['${GONE:-}', ''],
  ['${GONE:-a:b-c?d}', 'a:b-c?d'],
  ['${GONE:-${SET}}', 'x'],
  ['${GONE:-${GONE2:-${OTHER}}!}', 'y!'],
  ['${SET:+yes}', 'yes'],
  ['${EMPTY:+yes}', ''],
  ['${EMPTY+yes}', 'yes'],
  ['${GONE+yes}', ''],
  ['${SET:+${OTHER}}', 'y'],
  ['${SET:?needed}', 'x'],
  ['${EMPTY?needed}', ''],
])('%s', (text, value) => {
  expect(interpolate(text, env)).toMatchObject({ value, unset: [], missing: [], malformed: [] })
})

test('a variable without a value is empty and reported', () => {
  expect(interpolate('[$GONE][${ALSO}]', env)).toEqual({
    value: '[][]',
    referenced: ['GONE', 'ALSO'],
    unset: ['GONE', 'ALSO'],
    missing: [],
    malformed: [],
  })
})

test('a required variable is missing with its message', () => {
  expect(interpolate('${GONE:?set it} ${EMPTY:?}', env).missing).toEqual([
    { variable: 'GONE', message: 'set it' },
    { variable: 'EMPTY', message: '' },
  ])
})

test.each(['$', 'a $ b', '$1', '${', '${}', '${SET', '${1x}', '${SET!}', '${SET:x}', '${a b}'])(
  '%s is unchanged and malformed',
  (text) => {
    const { value, malformed } = interpolate(text, env)
    expect([value, malformed.length]).toEqual([text, 1])
  },
)

test('names of prototype properties are not variables', () => {
  expect(interpolate('${constructor}${__proto__:-d}', env)).toMatchObject({ value: 'd', unset: ['constructor'] })
})

test('deep nesting is malformed', () => {
  const deep = `${'${A:-'.repeat(20_000)}${'}'.repeat(20_000)}`
  expect(interpolate(deep, {}).malformed.length).toBe(1)
})
