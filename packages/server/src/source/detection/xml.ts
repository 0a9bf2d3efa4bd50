/** An XML element, as far as build files need it. */
export interface XmlElement {
  name: string
  attributes: Record<string, string>
  children: XmlElement[]
  text: string
}

const maxDepth = 100
const name = /[\w.:-]+/y
const space = /\s*/y

/** The root element, or `null` when the text is not XML. No entity is expanded or fetched, and the text is read once. */
export function parseXml(text: string): XmlElement | null {
  const root: XmlElement = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  for (let at = 0; at < text.length; ) {
    const next = text[at] === '<' ? readMarkup(text, at, open) : readText(text, at, open.at(-1)!)
    if (next === null || open.length === 0 || open.length > maxDepth) return null
    at = next
  }
  return open.length === 1 ? (root.children[0] ?? null) : null
}

function readText(text: string, at: number, current: XmlElement): number {
  const delimiter = text.indexOf('<', at)
  const end = delimiter < 0 ? text.length : delimiter
  current.text += unescaped(text.slice(at, end))
  return end
}

/** The end of the markup that starts at `at`; null when it is unterminated. */
function readMarkup(text: string, at: number, open: XmlElement[]): number | null {
  if (text.startsWith('<!--', at)) return endAfter(text, '-->', at + 4)
  if (text.startsWith('<![CDATA[', at)) {
    const end = endAfter(text, ']]>', at + 9)
    if (end !== null) open.at(-1)!.text += text.slice(at + 9, end - 3)
    return end
  }
  if (text[at + 1] === '?' || text[at + 1] === '!') return endAfter(text, '>', at + 2)
  return text[at + 1] === '/' ? readClosingTag(text, at + 2, open) : readOpeningTag(text, at + 1, open)
}

function readClosingTag(text: string, at: number, open: XmlElement[]): number | null {
  const found = matchAt(name, text, at)
  const end = at + found.length + matchAt(space, text, at + found.length).length
  if (found === '' || text[end] !== '>' || open.length === 1 || open.at(-1)!.name !== found) return null
  open.pop()
  return end + 1
}

function readOpeningTag(text: string, at: number, open: XmlElement[]): number | null {
  const found = matchAt(name, text, at)
  if (found === '') return null
  const element: XmlElement = { name: found, attributes: {}, children: [], text: '' }
  const end = readAttributes(text, at + found.length, element.attributes)
  if (end === null) return null
  open.at(-1)!.children.push(element)
  if (text[end - 2] !== '/') open.push(element)
  return end
}

/** Reads to the end of the tag; anything but attributes is skipped. */
function readAttributes(text: string, from: number, into: Record<string, string>): number | null {
  for (let at = from; at < text.length; ) {
    const character = text[at]!
    if (character === '>') return at + 1
    if (character === '<') return null
    const key = matchAt(name, text, at)
    if (key === '') {
      const end = character === '"' || character === "'" ? endAfter(text, character, at + 1) : at + 1
      if (end === null) return null
      at = end
      continue
    }
    at += key.length
    const equals = at + matchAt(space, text, at).length
    if (text[equals] !== '=') continue
    const start = equals + 1 + matchAt(space, text, equals + 1).length
    const quote = text[start]
    at = equals + 1
    if (quote !== '"' && quote !== "'") continue
    const end = endAfter(text, quote, start + 1)
    if (end === null) return null
    if (!Object.hasOwn(into, key)) define(into, key, unescaped(text.slice(start + 1, end - 1)))
    at = end
  }
  return null
}

/** Defines an attribute as an own property, so that `__proto__` is an ordinary name. */
const define = (into: Record<string, string>, key: string, value: string) =>
  Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true })

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

function endAfter(text: string, delimiter: string, from: number): number | null {
  const at = text.indexOf(delimiter, from)
  return at < 0 ? null : at + delimiter.length
}

export const childOf = (element: XmlElement | null, ...names: string[]): XmlElement | null => {
  let found = element
  for (const childName of names) found = found?.children.find((child) => child.name === childName) ?? null
  return found
}

export const childText = (element: XmlElement | null, ...names: string[]): string | null =>
  childOf(element, ...names)?.text.trim() || null

/** All elements of a name, at any depth, in order. */
export function descendants(element: XmlElement | null, childName: string): XmlElement[] {
  const found: XmlElement[] = []
  const check = ({ children }: XmlElement): void => {
    for (const child of children) {
      if (child.name === childName) found.push(child)
      check(child)
    }
  }
  if (element) check(element)
  return found
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
const unescaped = (text: string) => text.replace(/&(lt|gt|amp|quot|apos);/g, (_, entity: string) => entities[entity]!)
