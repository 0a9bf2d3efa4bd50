import { type Instruction, instructionsOf, splitInstruction } from '../../../../source/dockerfile/instructions.ts'
import { substitute } from '../../../../source/dockerfile/substitute.ts'
import { setVariables } from '../../../../source/dockerfile/variables.ts'
import { BuildFailed } from '../../runtime-errors.ts'

/** Limit of stages, far above real Dockerfiles: each may need an image to be pulled. */
const maxStages = 200

/**
 * Replaces the base images of a Dockerfile by their local names: an engine without a public registry has them from a mirror.
 * Stages, `scratch` and names that are known only during the build stay.
 */
export async function withLocalBaseImages(
  text: string,
  buildArguments: Readonly<Record<string, string>>,
  find: (image: string) => Promise<string>,
): Promise<string> {
  const stages = new Set(['scratch'])
  const values = new Map<string, string>()
  const pieces: string[] = []
  let [copiedUpTo, stageCount] = [0, 0]
  for (const instruction of instructionsOf(text)) {
    if (instruction.keyword === 'ARG' && stageCount === 0) setVariables(instruction.rest, values, buildArguments)
    if (instruction.keyword !== 'FROM') continue
    if (++stageCount > maxStages) throw new BuildFailed('bad_plan', `The Dockerfile has more than ${maxStages} stages`)
    const { words } = splitInstruction(instruction.rest)
    const image = expandImageName(words[0] ?? '', values)
    const name = image === null || stages.has(image.toLowerCase()) ? image : await find(image)
    if (name !== null && name !== image) {
      pieces.push(text.slice(copiedUpTo, instruction.start), withImageName(text, instruction, words[0]!, name))
      copiedUpTo = instruction.end
    }
    if (words[1]?.toUpperCase() === 'AS' && words[2]) stages.add(words[2].toLowerCase())
  }
  return [...pieces, text.slice(copiedUpTo)].join('')
}

/** Expands an image name. Null if a variable in it is unknown before the build. */
function expandImageName(written: string, values: ReadonlyMap<string, string>): string | null {
  const { text, isKnown } = substitute(written, values, 1000)
  return isKnown && text !== '' && !text.includes('$') ? text : null
}

/** The FROM instruction with the new name. One that spans lines is joined into one. */
function withImageName(text: string, { start, end, rest }: Instruction, written: string, name: string): string {
  const line = text.slice(start, end)
  const instruction = line.includes('\n') ? `FROM ${rest}` : line
  const words = splitInstruction(rest)
  let at = instruction.search(/\S/) + 'FROM'.length
  for (const option of words.options) at = instruction.indexOf(option, at) + option.length
  at = instruction.indexOf(written, at)
  return instruction.slice(0, at) + name + instruction.slice(at + written.length)
}
