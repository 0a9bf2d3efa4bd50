import { instructionsOf, splitInstruction } from '../dockerfile/instructions.ts'
import { substitute } from '../dockerfile/substitute.ts'
import { setVariables } from '../dockerfile/variables.ts'

/** Settings of the last stage of a Dockerfile. */
export interface Dockerfile {
  ports: number[]
  /** CMD as written: `["node", "server.js"]`. */
  command: string | null
}

interface Stage {
  parent: Stage | undefined
  /** The stage's own instructions, in order. */
  instructions: { keyword: string; rest: string }[]
}

const maxPorts = 100

export function parseDockerfile(text: string): Dockerfile {
  const stages = new Map<string, Stage>()
  const global: Stage = { parent: undefined, instructions: [] }
  let stage = global
  for (const { keyword, rest } of instructionsOf(text)) {
    if (keyword === 'FROM') {
      const [image = '', , name] = splitInstruction(rest).words
      stage = { parent: stages.get(image.toLowerCase()) ?? global, instructions: [] }
      stages.set((name ?? `#${stages.size}`).toLowerCase(), stage)
    } else if (['ARG', 'ENV', 'EXPOSE', 'CMD'].includes(keyword)) stage.instructions.push({ keyword, rest })
  }
  return evaluate(stage)
}

/** Follows the parents of the last stage, each once and with one set of variables. */
function evaluate(last: Stage): Dockerfile {
  const lineage: Stage[] = []
  for (let stage: Stage | undefined = last; stage; stage = stage.parent) lineage.push(stage)
  const variables = new Map<string, string>()
  const ports = new Set<number>()
  let command: string | null = null
  for (const stage of lineage.reverse())
    for (const { keyword, rest } of stage.instructions) {
      if (keyword === 'CMD') command = rest
      else if (keyword !== 'EXPOSE') setVariables(rest, variables)
      else if (ports.size < maxPorts) for (const port of exposedPorts(rest, variables)) ports.add(port)
    }
  return { ports: [...ports], command }
}

function exposedPorts(rest: string, variables: ReadonlyMap<string, string>): number[] {
  return substitute(rest, variables, 1000)
    .text.split(/\s+/)
    .flatMap((word) => {
      const match = /^(\d{1,5})(?:-\d{1,5})?(?:\/tcp)?$/i.exec(word)
      const port = Number(match?.[1])
      return match && port >= 1 && port <= 65535 ? [port] : []
    })
}
