import { expect, test } from 'vitest'
import { declaredArguments, type StageOptions, withLabels, withoutUnneededStages } from './needed-stages.ts'
import { parseStrictly } from './strict-dockerfile.ts'

const options: StageOptions = { target: null, buildArguments: {}, platform: 'linux/arm64' }
const built = (text: string, changes: Partial<StageOptions> = {}) =>
  withoutUnneededStages(text, { ...options, ...changes })
    .split('\n')
    .filter((line) => line !== '')

test('an unneeded stage is not built, and its image is not pulled', () => {
  const text = 'FROM one AS build\nRUN make\nFROM huge AS test\nRUN exit 1\nFROM two\nCOPY --from=build /x /x'
  expect(built(text)).toEqual(['FROM one AS build', 'RUN make', 'FROM scratch AS test', 'FROM two', 'COPY --from=build /x /x'])
  expect(withoutUnneededStages(text, options).split('\n')).toHaveLength(6)
})

test.each<[string, string, Partial<StageOptions>]>([
  ['by its name, in any case', 'FROM a AS Build\nFROM b\nCOPY --from=bUILD x x', {}],
  ['by its number', 'FROM a\nFROM b\nCOPY --from=0 x x', {}],
  ['as a base', 'FROM a AS base\nFROM base', {}],
  ['as a base that an argument names', 'ARG FLAVOUR=base\nFROM a AS base\nFROM $FLAVOUR', {}],
  ['as a base that a build argument names', 'ARG KIND\nFROM a AS of-prod\nFROM of-$KIND', { buildArguments: { KIND: 'prod' } }],
  ['as a base for the platform', 'FROM a AS for-arm64\nFROM for-$TARGETARCH', {}],
  ['by a mount', 'FROM a AS deps\nFROM b\nRUN --mount=type=bind,from=deps,target=/d ls', {}],
  ['through another one', 'FROM a AS one\nFROM one AS two\nFROM b\nCOPY --from=two x x', {}],
])('a stage is needed %s', (_, text, changes) => {
  expect(built(text, changes)).toEqual(text.split('\n'))
})

test('stages after the target are not built', () => {
  const text = 'FROM a AS base\nRUN one\nFROM base AS web\nRUN two\nFROM base AS worker\nRUN three'
  expect(built(text, { target: 'WEB' })).toEqual(['FROM a AS base', 'RUN one', 'FROM base AS web', 'RUN two'])
  expect(built(text, { target: '0' })).toEqual(['FROM a AS base', 'RUN one'])
  expect(() => built(text, { target: 'none' })).toThrow('it has no stage "none"; its stages are: base, web, worker')
})

test('a here-document of an omitted stage is removed with it', () => {
  const text = '# syntax=docker/dockerfile:1\nFROM a AS test\nRUN <<EOF\nFROM nothing\nEOF\nFROM b'
  expect(built(text)).toEqual(['# syntax=docker/dockerfile:1', 'FROM scratch AS test', 'FROM b'])
})

test('arguments declared before the first stage and inside a stage are found', () => {
  expect(declaredArguments('ARG A=1\nFROM x\nARG B C=2\nARG A\n')).toEqual(['A', 'B', 'C'])
})

test.each(['FROM b', 'FROM b\n\n', 'FROM b\nRUN y \\', 'FROM b\nRUN y \\\n\n', '# escape=`\nFROM b\nRUN y `\n'])(
  'labels follow each FROM with instructions, and end the file: %j',
  (end) => {
    const stages = 'FROM scratch AS left\nFROM \\\n a AS one\nRUN x\n'
    const text = end.startsWith('#') ? end : stages + end
    const labelled = parseStrictly(withLabels(text, { 'berth.kind': 'stage' }, { 'berth.kind': 'artifact' }))
    const found = labelled.instructions.map(({ keyword, rest }) => `${keyword} ${rest}`)
    const last = end.includes('RUN') ? ['RUN y'] : []
    expect(found.slice(-2 - last.length - 1)).toEqual([
      'FROM b',
      'LABEL berth.kind="stage"',
      ...last,
      'LABEL berth.kind="artifact"',
    ])
    if (!end.startsWith('#'))
      expect(found.slice(0, 4)).toEqual(['FROM scratch AS left', 'FROM a AS one', 'LABEL berth.kind="stage"', 'RUN x'])
  },
)
