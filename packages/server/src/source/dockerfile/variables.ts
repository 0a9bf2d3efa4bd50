import { substitute } from './substitute.ts'

/** Longer than any that is of use in a port or the name of an image. */
const maxLength = 1000

/** Applies an ARG or ENV: `NAME=value NAME2="value"` or the older `NAME value`. `given` takes precedence. */
export function setVariables(rest: string, values: Map<string, string>, given: Readonly<Record<string, string>> = {}): void {
  const pairs = [...rest.matchAll(/(?:^|\s)(\w+)=(?:"([^"]*)"|'([^']*)'|(\S*))/g)]
  for (const [, name, double, single, bare] of pairs) set(name!, double ?? single ?? bare ?? '', values, given)
  if (pairs.length > 0) return
  const [name = '', value] = rest.split(/\s+/, 2)
  if (value !== undefined || Object.hasOwn(given, name)) set(name, value ?? '', values, given)
}

function set(name: string, written: string, values: Map<string, string>, given: Readonly<Record<string, string>>): void {
  const value = Object.hasOwn(given, name) ? given[name]! : written
  values.set(name, substitute(value, values, maxLength).text)
}
