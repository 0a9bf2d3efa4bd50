/** What a Dockerfile says of the image's last stage. */
export interface Dockerfile {
  ports: number[]
  /** As written: `["node", "server.js"]`. */
  command: string | null
}

interface Stage {
  variables: Map<string, string>
  ports: number[]
  command: string | null
}

export function parseDockerfile(text: string): Dockerfile {
  const stages = new Map<string, Stage>()
  const global = new Map<string, string>()
  let stage: Stage = { variables: global, ports: [], command: null }
  for (const { instruction, rest } of instructions(text)) {
    if (instruction === 'FROM') {
      const [image = '', , name] = rest.split(/\s+/).filter((word) => !word.startsWith('--'))
      const parent = stages.get(image.toLowerCase())
      stage = {
        variables: new Map(parent?.variables ?? global),
        ports: [...(parent?.ports ?? [])],
        command: parent?.command ?? null,
      }
      stages.set((name ?? `#${stages.size}`).toLowerCase(), stage)
    } else if (instruction === 'ARG' || instruction === 'ENV') setVariables(rest, stage.variables)
    else if (instruction === 'EXPOSE') stage.ports.push(...exposed(rest, stage.variables))
    else if (instruction === 'CMD') stage.command = rest
  }
  return { ports: stage.ports, command: stage.command }
}

/** Lines joined where they are continued, without comments and without the bodies of here-documents. */
function* instructions(text: string): Generator<{ instruction: string; rest: string }> {
  const lines = text.split(/\r?\n/)
  for (let at = 0; at < lines.length; at++) {
    const parts: string[] = []
    for (; at < lines.length; at++) {
      const line = lines[at]!.trim()
      if (line.startsWith('#') || (line === '' && parts.length > 0)) continue
      parts.push(line.endsWith('\\') ? line.slice(0, -1) : line)
      if (!line.endsWith('\\')) break
    }
    const whole = parts.join(' ').trim()
    const space = whole.search(/\s/)
    if (space < 0) continue
    const instruction = whole.slice(0, space).toUpperCase()
    const end = ['RUN', 'COPY', 'ADD'].includes(instruction) ? /<<-?["']?(\w+)/.exec(whole)?.[1] : undefined
    yield { instruction, rest: whole.slice(space).trim() }
    if (end === undefined) continue
    do at++
    while (at < lines.length && lines[at]!.trim() !== end)
  }
}

/** `NAME=value NAME2="value"` or the older `NAME value`. */
function setVariables(rest: string, variables: Map<string, string>): void {
  const pairs = [...rest.matchAll(/(?:^|\s)(\w+)=(?:"([^"]*)"|'([^']*)'|(\S*))/g)]
  for (const [, name, double, single, bare] of pairs) variables.set(name!, filled(double ?? single ?? bare ?? '', variables))
  const [name, value] = rest.split(/\s+/, 2)
  if (pairs.length === 0 && name && value) variables.set(name, filled(value, variables))
}

const filled = (text: string, variables: Map<string, string>) =>
  text
    .replace(
      /\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})/g,
      (_, plain?: string, braced?: string, standard?: string) => variables.get(plain ?? braced ?? '') || (standard ?? ''),
    )
    .slice(0, 1000)

function exposed(rest: string, variables: Map<string, string>): number[] {
  return filled(rest, variables)
    .split(/\s+/)
    .flatMap((word) => {
      const match = /^(\d{1,5})(?:-\d{1,5})?(?:\/tcp)?$/i.exec(word)
      const port = Number(match?.[1])
      return match && port >= 1 && port <= 65535 ? [port] : []
    })
}
