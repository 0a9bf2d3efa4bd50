/** A piece of a log line with one style. */
export interface StyledText {
  text: string
  /** A colour of the palette by name, or `#rrggbb`. */
  color?: string
  background?: string
  isBold?: boolean
  isDim?: boolean
  isItalic?: boolean
  isUnderlined?: boolean
}

type Style = Omit<StyledText, 'text'>

const palette = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const

/** More pieces than this are joined without style, so that a hostile line stays cheap to render. */
const maxPieces = 500

// CSI sequences, OSC sequences (titles, links) up to BEL or ST, other two-character escapes, and an unfinished sequence at the end.
const escapes = /(?:\x1b\[|\x9b)([0-9;:?<=>!]*)[ -/]*([@-~]?)|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?/g
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/** Splits a log line with ANSI escape sequences into styled pieces. Colours and weights are kept, all other sequences are removed. */
export function styledText(line: string): StyledText[] {
  if (!hasControls(line)) return [{ text: line }]
  const visible = lastOverwrite(line)
  const pieces: StyledText[] = []
  let style: Style = {}
  let at = 0
  const push = (raw: string) => {
    const text = raw.replace(controls, '')
    if (!text) return
    const last = pieces.at(-1)
    if (last && pieces.length >= maxPieces) last.text += text
    else pieces.push({ text, ...style })
  }
  for (const match of visible.matchAll(escapes)) {
    push(visible.slice(at, match.index))
    at = match.index + match[0].length
    if (match[2] === 'm') style = applyCodes(style, match[1] ?? '')
  }
  push(visible.slice(at))
  return pieces.length > 0 ? pieces : [{ text: '' }]
}

/** The visible text of a line, without escape sequences. */
export const plainText = (line: string): string =>
  hasControls(line) ? lastOverwrite(line).replace(escapes, '').replace(controls, '') : line

const hasControls = (line: string): boolean => /[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(line)

/** A progress bar writes over its line with carriage returns: only the last state is shown. */
function lastOverwrite(line: string): string {
  const end = line.replace(/\r+$/, '')
  return end.slice(end.lastIndexOf('\r') + 1)
}

function applyCodes(before: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map((code) => (code === '' ? 0 : Number(code)))
  let style = { ...before }
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] as number
    if (code === 0) style = {}
    else if (code === 1) style.isBold = true
    else if (code === 2) style.isDim = true
    else if (code === 3) style.isItalic = true
    else if (code === 4) style.isUnderlined = true
    else if (code === 22) style = without(style, 'isBold', 'isDim')
    else if (code === 23) style = without(style, 'isItalic')
    else if (code === 24) style = without(style, 'isUnderlined')
    else if (code === 39) style = without(style, 'color')
    else if (code === 49) style = without(style, 'background')
    else if (code === 38 || code === 48) {
      const [color, length] = extendedColor(codes.slice(at + 1, at + 5))
      at += length
      if (color) style = { ...style, [code === 38 ? 'color' : 'background']: color }
    } else {
      const name = palette[code % 10]
      if (!name) continue
      if (code >= 30 && code <= 37) style.color = name
      else if (code >= 40 && code <= 47) style.background = name
      else if (code >= 90 && code <= 97) style.color = `bright-${name}`
      else if (code >= 100 && code <= 107) style.background = `bright-${name}`
    }
  }
  return style
}

/** The colour after 38 or 48, and how many codes it takes: `5;n` of 256 colours, or `2;r;g;b`. */
function extendedColor([mode, ...rest]: readonly number[]): [string | undefined, number] {
  if (mode === 2) return [rest.length >= 3 ? hex(rest[0]!, rest[1]!, rest[2]!) : undefined, 4]
  if (mode !== 5) return [undefined, 0]
  const index = rest[0]
  if (index === undefined || !(index >= 0 && index <= 255)) return [undefined, 2]
  if (index < 16) return [`${index >= 8 ? 'bright-' : ''}${palette[index % 8]}`, 2]
  if (index >= 232) return [hex(...([8, 8, 8].map((base) => base + 10 * (index - 232)) as [number, number, number])), 2]
  const cube = index - 16
  const level = (value: number) => (value === 0 ? 0 : 55 + 40 * value)
  return [hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2]
}

function hex(...parts: [number, number, number]): string | undefined {
  if (parts.some((part) => !(part >= 0 && part <= 255))) return undefined
  return `#${parts.map((part) => Math.floor(part).toString(16).padStart(2, '0')).join('')}`
}

function without(style: Style, ...names: (keyof Style)[]): Style {
  const rest = { ...style }
  for (const name of names) delete rest[name]
  return rest
}
