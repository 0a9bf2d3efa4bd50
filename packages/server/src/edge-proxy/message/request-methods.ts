import type { RequestHead } from './request-head.ts'

/** Fast check: a query without this text and without escapes contains no `_method`. */
const mayNameMethod = /method/i
const escapes = /%[0-9a-f]{2}/i

/**
 * All methods, in upper case, that a framework may use for the request: the method itself, and those in an override header or in
 * `_method` of the query. A method in the body of a form is not checked.
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

/** PHP reads a dot in a name as `_`, ignores spaces before the name, and ends the name at a bracket or NUL. */
const namesMethod = (name: string) => /^ *[_.]method(?:$|\[|\0)/i.test(name)

function decoded(text: string): string {
  return text.replaceAll('+', ' ').replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}
