import type { RequestHead } from './request-head.ts'

/** A `_method` somewhere in the query, escaped or not, or as PHP also reads it. */
const mayNameMethod = /method/i
const escapes = /%[0-9a-f]{2}/i

/**
 * Every method, in upper case, that a framework may take the request for: its own, and those that it names in a header or in
 * `_method` of the query. A form's body may name one too; that is not looked at.
 */
export function methodsOf(head: RequestHead): string[] {
  const methods = [head.method.toUpperCase()]
  for (const named of head.methodOverride.split(',')) add(methods, named)
  const query = head.target.indexOf('?')
  if (query !== -1) for (const named of methodsInQuery(head.target.slice(query + 1))) add(methods, named)
  return methods
}

function add(methods: string[], named: string): void {
  const method = named.trim().toUpperCase()
  if (method !== '' && !methods.includes(method)) methods.push(method)
}

function methodsInQuery(query: string): string[] {
  if (!mayNameMethod.test(query) && !escapes.test(query)) return []
  return query
    .split(/[&;?#]/)
    .map((pair) => pair.split('='))
    .filter(([name]) => namesMethod(decoded(name!)))
    .map(([, ...value]) => decoded(value.join('=')))
}

/** PHP takes a dot in a name for `_` and leaves out blanks before it; what follows a bracket or NUL is not part of it. */
const namesMethod = (name: string) => /^ *[_.]method(?:$|\[|\0)/i.test(name)

function decoded(text: string): string {
  return text.replaceAll('+', ' ').replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}
