import { stripVTControlCharacters } from 'node:util'
import { environment } from './environment.ts'

/** A build's colours reach a terminal that wants them; anything else that moves a cursor or a title reaches nobody. */
export function plainText(text: string, stream: { isTTY?: boolean }): string {
  if (stream.isTTY !== true || environment.noColor()) return strip(text)
  return text.replace(anything, (sequence) => (colours.test(sequence) ? sequence : ''))
}

const strip = (text: string) => stripVTControlCharacters(text).replace(controls, '')

const colours = /^\x1b\[[\d;]{0,40}m$/
const anything = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]/g
const controls = /[\x00-\x08\x0b-\x1f\x7f]/g
