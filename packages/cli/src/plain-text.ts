import { stripVTControlCharacters } from 'node:util'
import { environment } from './environment.ts'

/** Keeps colours for a terminal that supports them; removes all other sequences, which could move the cursor or set the title. */
export function plainText(text: string, stream: { isTTY?: boolean }): string {
  if (stream.isTTY !== true || environment.noColor()) return strip(text)
  // Only complete colour sequences are kept. Removing text between them cannot create a new sequence.
  return text
    .split(colours)
    .map((piece, at) => (at % 2 === 1 ? piece : strip(piece)))
    .join('')
}

const strip = (text: string) => stripVTControlCharacters(text).replace(controls, '')

const colours = /(\x1b\[[\d;]{0,40}m)/
/** Includes the one-byte forms of sequences: U+009B starts a sequence like ESC and a bracket. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
