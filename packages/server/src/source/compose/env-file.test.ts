// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { expect, test } from 'vitest'
import { readEnvFile } from './env-file.ts'

test.each<[string, Record<string, string>, Record<string, string>]>([
  ['A=1\nB=${A}/x', {}, { A: '1', B: '1/x' }],
  ['Z=1\nA=${Z}/x', {}, { Z: '1', A: '1/x' }],
  ['B="${A:-none}/x"', {}, { B: 'none/x' }],
  ["B='${A}'", { A: '1' }, { B: '${A}' }],
  ['A=file\nB=${A}', { A: 'project' }, { A: 'file', B: 'project' }],
  ['export B=$A', { A: '1' }, { B: '1' }],
  ['B=a$$b', {}, { B: 'a$b' }],
])('%s with %o', (text, known, expected) => expect(readEnvFile(text, known)).toEqual(expected))
