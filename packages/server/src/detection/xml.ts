/** An element of an XML file, as far as build files need it. */
export interface XmlElement {
  name: string
  attributes: Record<string, string>
  children: XmlElement[]
  text: string
}

/** Sticky: where it does not match, the text is no XML, and nothing is looked at twice. */
const token =
  /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<[?!](?!--|\[CDATA\[)[^>]*>|<(\/?)([\w.:-]+)((?:[^<>"'/]|\/(?!>)|"[^"]*"|'[^']*')*)(\/?)>|([^<]+)/y
const maxDepth = 100

/** The root element, or `null` when the text is no XML. Nothing is expanded or fetched. */
export function parseXml(text: string): XmlElement | null {
  const root: XmlElement = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  token.lastIndex = 0
  while (token.lastIndex < text.length) {
    const match = token.exec(text)
    if (!match) return null
    const [, cdata, closing, name, attributes, selfClosing, plain] = match
    const current = open.at(-1)!
    if (name === undefined) current.text += cdata ?? unescaped(plain ?? '')
    else if (closing) {
      if (open.length === 1 || current.name !== name) return null
      open.pop()
    } else {
      const element: XmlElement = { name, attributes: attributesOf(attributes ?? ''), children: [], text: '' }
      current.children.push(element)
      if (!selfClosing) open.push(element)
      if (open.length > maxDepth) return null
    }
  }
  return open.length === 1 ? (root.children[0] ?? null) : null
}

export const childOf = (element: XmlElement | null, ...names: string[]): XmlElement | null => {
  let found = element
  for (const name of names) found = found?.children.find((child) => child.name === name) ?? null
  return found
}

export const childText = (element: XmlElement | null, ...names: string[]): string | null =>
  childOf(element, ...names)?.text.trim() || null

/** All elements of a name, at any depth. */
export function descendants(element: XmlElement | null, name: string): XmlElement[] {
  return (element?.children ?? []).flatMap((child) => [...(child.name === name ? [child] : []), ...descendants(child, name)])
}

const attributesOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, name, one, two]) => [
      name!,
      unescaped(one ?? two ?? ''),
    ]),
  )

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
const unescaped = (text: string) => text.replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => entities[name]!)
