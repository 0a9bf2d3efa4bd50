import { type Instruction, instructionsOf, wordsOf } from '../../../../source/dockerfile/instructions.ts'
import { substitute } from '../../../../source/dockerfile/substitute.ts'
import { setVariables } from '../../../../source/dockerfile/variables.ts'
import { BuildFailed } from '../../runtime.ts'

/** Many times what anyone writes: each may be an image to fetch. */
const maxStages = 200

/**
 * A Dockerfile whose base images are called what they are called here: an engine without a public registry has them from a
 * mirror. Stages, `scratch` and names that only the build itself knows stay as they are.
 */
export async function withBasesHere(
  text: string,
  buildArguments: Readonly<Record<string, string>>,
  find: (image: string) => Promise<string>,
): Promise<string> {
  const stages = new Set(['scratch'])
  const values = new Map<string, string>()
  const pieces: string[] = []
  let [from, count] = [0, 0]
  for (const instruction of instructionsOf(text)) {
    if (instruction.keyword === 'ARG' && count === 0) setVariables(instruction.rest, values, buildArguments)
    if (instruction.keyword !== 'FROM') continue
    if (++count > maxStages) throw new BuildFailed('bad_plan', `The Dockerfile has more than ${maxStages} stages`)
    const { words } = wordsOf(instruction.rest)
    const image = nameOf(words[0] ?? '', values)
    const name = image === null || stages.has(image.toLowerCase()) ? image : await find(image)
    if (name !== null && name !== image) {
      pieces.push(text.slice(from, instruction.start), renamed(text, instruction, words[0]!, name))
      from = instruction.end
    }
    if (words[1]?.toUpperCase() === 'AS' && words[2]) stages.add(words[2].toLowerCase())
  }
  return [...pieces, text.slice(from)].join('')
}

/** Null where a variable in it has no value that is known before the build. */
function nameOf(written: string, values: ReadonlyMap<string, string>): string | null {
  const { text, isKnown } = substitute(written, values, 1000)
  return isKnown && text !== '' && !text.includes('$') ? text : null
}

/** As it was written but for the name; where it goes over several lines, in one. */
function renamed(text: string, { start, end, rest }: Instruction, written: string, name: string): string {
  const line = text.slice(start, end)
  const whole = line.includes('\n') ? `FROM ${rest}` : line
  const words = wordsOf(rest)
  let at = whole.search(/\S/) + 'FROM'.length
  for (const option of words.options) at = whole.indexOf(option, at) + option.length
  at = whole.indexOf(written, at)
  return whole.slice(0, at) + name + whole.slice(at + written.length)
}
