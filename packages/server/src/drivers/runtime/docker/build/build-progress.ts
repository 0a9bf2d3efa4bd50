import type { OutputLine } from '../../runtime.ts'
import { fieldsOf, textIn } from './protobuf.ts'

export interface BuildEvent {
  stream: OutputLine['stream']
  text: string
}

interface Message {
  stream?: string
  error?: string
  id?: string
  aux?: unknown
}

const maxMessageLength = 8 * 1024 * 1024

/** Reads the output of either builder. Rejects with the builder's error message if the build failed. */
export async function readBuildOutput(output: AsyncIterable<Uint8Array>, onEvent: (event: BuildEvent) => void): Promise<void> {
  const decoder = new TextDecoder()
  const steps = new Set<string>()
  let rest = ''
  const handleLine = (line: string) => {
    if (line.trim() === '') return
    const message = JSON.parse(line) as Message
    if (message.error !== undefined) throw new Error(message.error)
    if (message.stream !== undefined) onEvent(classicEvent(message.stream))
    if (message.id === 'moby.buildkit.trace' && typeof message.aux === 'string')
      for (const event of buildKitEvents(Buffer.from(message.aux, 'base64'), steps)) onEvent(event)
  }
  for await (const chunk of output) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxMessageLength) throw new Error('the builder sent a message that is too long')
    for (const line of lines) handleLine(line)
  }
  handleLine(rest)
}

const escapeCharacter = String.fromCharCode(27)

/** The classic builder marks stderr lines with the color red, and in no other way. */
function classicEvent(text: string): BuildEvent {
  const isError = text.startsWith(`${escapeCharacter}[91m`)
  return {
    stream: isError ? 'stderr' : 'stdout',
    text: isError ? text.replaceAll(`${escapeCharacter}[91m`, '').replaceAll(`${escapeCharacter}[0m`, '') : text,
  }
}

/** Reads BuildKit's StatusResponse: steps (field 1) and their output (field 3). Each step is named once. */
export function buildKitEvents(status: Buffer, steps: Set<string>): BuildEvent[] {
  const events: BuildEvent[] = []
  for (const { field, bytes } of fieldsOf(status)) {
    if (field === 1) {
      const name = textIn(bytes, 3)
      const isStarted = fieldsOf(bytes).some((one) => one.field === 5)
      if (!isStarted || name === '' || steps.has(name)) continue
      steps.add(name)
      const isCached = fieldsOf(bytes).some((one) => one.field === 4 && one.number === 1)
      events.push({ stream: 'stdout', text: isCached ? `${name} (cached)\n` : `${name}\n` })
    } else if (field === 3) {
      const isError = fieldsOf(bytes).some((one) => one.field === 3 && one.number === 2)
      events.push({ stream: isError ? 'stderr' : 'stdout', text: textIn(bytes, 4) })
    }
  }
  return events
}
