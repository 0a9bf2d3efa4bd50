import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDotenv, parseDotenv } from './dotenv.ts'

test('pasted lines are read: comments, export, quotes, empty values', () => {
  const text = `# database\nexport URL=postgres://a:b@c/d?e=f # the main one\nEMPTY=\nQUOTED="two\\nlines"\nPLAIN='$as it is'\nMANY="a\nb"\n`
  expect(parseDotenv(text)).toEqual({
    variables: [
      { key: 'URL', value: 'postgres://a:b@c/d?e=f' },
      { key: 'EMPTY', value: '' },
      { key: 'QUOTED', value: 'two\nlines' },
      { key: 'PLAIN', value: '$as it is' },
      { key: 'MANY', value: 'a\nb' },
    ],
    problems: [],
  })
})

test('an invalid variable is named', () => {
  const { variables, problems } = parseDotenv('A=1\n1B=2\nA=3\nno value here\n')
  expect(variables).toEqual([{ key: 'A', value: '1' }])
  expect(problems).toEqual([expect.stringContaining('1B'), 'A is a duplicate', 'Line 4 is not NAME=value'])
})

test('values are written so that they are read back byte for byte', () => {
  const value = fc.string({ unit: 'binary', maxLength: 60 })
  fc.assert(
    fc.property(fc.array(value, { maxLength: 5 }), (values) => {
      const variables = values.map((one, at) => ({ key: `KEY_${at}`, value: one }))
      expect(parseDotenv(formatDotenv(variables))).toEqual({ variables, problems: [] })
    }),
  )
})
