// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Docker's

import { needsBuildKit } from '../../packages/server/src/drivers/runtime/docker/build/build-dockerfile.ts'
import { withLocalBaseImages } from '../../packages/server/src/drivers/runtime/docker/build/dockerfile-bases.ts'
import { guardDockerfile } from '../../packages/server/src/drivers/runtime/docker/build/guarded-dockerfile.ts'
import { DockerfileRefused } from '../../packages/server/src/drivers/runtime/docker/build/strict-dockerfile.ts'
import { BuildFailed } from '../../packages/server/src/drivers/runtime/runtime-errors.ts'
import { parseDockerfile } from '../../packages/server/src/source/detection/dockerfile.ts'
import { instructionsOf } from '../../packages/server/src/source/dockerfile/instructions.ts'
import type { Random } from './random.ts'
import { type Fuzzed, fuzzByHand } from './runner.ts'
import { hostileText } from './texts.ts'

const pieces = [
  'FROM ',
  'FROM a AS b\n',
  'FROM b\n',
  '--platform=$P ',
  'ARG ',
  'ENV ',
  'EXPOSE ',
  'CMD ',
  'RUN ',
  'COPY ',
  'ADD ',
  'https://a/b ',
  '--from=',
  '--mount=',
  'type=cache,',
  'ONBUILD ',
  '# syntax=',
  '<<EOF',
  '<<-"E"',
  'EOF\n',
  'E\n',
  '\n',
  '\\\n',
  '\\',
  '`\n',
  '# escape=`\n',
  '# x\n',
  ' ',
  '\t',
  'A',
  'B',
  '=',
  '"',
  "'",
  '$A',
  '${A}',
  '${A:-',
  '${',
  '}',
  ':+',
  '80',
  '443/tcp',
  'AS ',
  'a',
]

const make = (random: Random): string => hostileText(random, pieces)

export const kinds: Fuzzed[] = [
  {
    name: 'dockerfile',
    make,
    check: async (text: string) => {
      const { ports } = parseDockerfile(text)
      if (ports.some((port) => !(port >= 1 && port <= 65_535))) throw new Error(`ports ${ports.join(' ')}`)
      needsBuildKit(text)
      let end = 0
      for (const instruction of instructionsOf(text)) {
        if (instruction.start < end || instruction.end < instruction.start) throw new Error('instructions overlap')
        end = instruction.end
      }
    },
    slowMs: 1_500,
  },
  {
    name: 'bases',
    make,
    check: async (text: string) => {
      try {
        if ((await withLocalBaseImages(text, { A: 'x' }, async (image) => image)) !== text)
          throw new Error('changed without a reported reason')
        const renamed = await withLocalBaseImages(text, { A: 'x' }, async (image) => `m/${image}`)
        const kept = [...instructionsOf(text)].map(({ keyword }) => keyword).join()
        if ([...instructionsOf(renamed)].map(({ keyword }) => keyword).join() !== kept) throw new Error('other instructions')
      } catch (error) {
        if (!(error instanceof BuildFailed)) throw error
      }
    },
    slowMs: 1_500,
  },
  {
    name: 'guarded',
    make,
    check: async (text: string) => {
      const findImage = async (image: string) => image
      const guard = { buildArguments: { A: 'x' }, cacheOwner: 'p', supportsHeredocs: true, platform: 'linux/amd64', findImage }
      const written = await guardDockerfile(text, guard).catch((error: unknown) => {
        if (!(error instanceof DockerfileRefused)) throw error
        return null
      })
      if (!written) return
      // The rewritten file has its instructions on the same lines, and passes the validation again.
      if (written.text.split('\n').length !== text.split('\n').length) throw new Error('the number of lines changed')
      await guardDockerfile(written.text, guard)
    },
    slowMs: 1_500,
  },
] as Fuzzed[]

if (import.meta.main) await fuzzByHand('dockerfiles', kinds)
