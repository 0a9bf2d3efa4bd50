import { expect, test } from 'vitest'
import { buildArgsText, readBuildArgs } from './build-args.ts'

test.each<Record<string, string>>([{ NODE_VERSION: '24' }, { A: '', B: 'a=b c', C: 'two\nlines', D: 'C:\\new' }])(
  '%j is read as it was shown',
  (args) => expect(readBuildArgs(buildArgsText(args))).toEqual({ buildArgs: args, problems: [] }),
)

test('no line is no argument', () => expect(readBuildArgs(' \n\n')).toEqual({ buildArgs: null, problems: [] }))

test.each(['NAME', '1A=x', 'A B=c', 'A=1\nA=2'])('%j is refused', (text) => expect(readBuildArgs(text).problems).toHaveLength(1))
