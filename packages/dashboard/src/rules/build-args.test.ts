import { expect, test } from 'vitest'
import { buildArgsText, readBuildArgs } from './build-args.ts'

test.each<Record<string, string>>([{ NODE_VERSION: '24' }, { A: '', B: 'a=b c', C: 'two\nlines', D: 'C:\\new' }])(
  '%j is unchanged when written as text and read back',
  (args) => expect(readBuildArgs(buildArgsText(args))).toEqual({ buildArgs: args, problems: [] }),
)

test('blank lines mean no build arguments', () => expect(readBuildArgs(' \n\n')).toEqual({ buildArgs: null, problems: [] }))

test.each(['NAME', '1A=x', 'A B=c', 'A=1\nA=2'])('%j is refused', (text) => expect(readBuildArgs(text).problems).toHaveLength(1))
