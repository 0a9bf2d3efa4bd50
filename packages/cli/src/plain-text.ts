import { stripVTControlCharacters } from 'node:util'
import { environment } from './environment.ts'

/** A build's colours reach a terminal that wants them; anything else that moves a cursor or a title reaches nobody. */
export function plainText(text: string, stream: { isTTY?: boolean }): string {
  if (stream.isTTY !== true || environment.noColor()) return strip(text)
  // Only whole colours are kept. What is taken out between them leaves nothing that could become a sequence again.
  return text
    .split(colours)
    .map((piece, at) => (at % 2 === 1 ? piece : strip(piece)))
    .join('')
}

const strip = (text: string) => stripVTControlCharacters(text).replace(controls, '')

const colours = /(\x1b\[[\d;]{0,40}m)/
/** Those of one byte that stand for two are among them: U+009B begins a sequence as ESC and a bracket do. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
