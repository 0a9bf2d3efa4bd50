import { substitute } from './substitute.ts'

/** Maximum length of a value: longer than any port or image name. */
const maxLength = 1000

/** Applies an ARG or ENV: `NAME=value NAME2="value"` or the older `NAME value`. `overrides` takes precedence. */
export function setVariables(rest: string, values: Map<string, string>, overrides: Readonly<Record<string, string>> = {}): void {
  const pairs = [...rest.matchAll(/(?:^|\s)(\w+)=(?:"([^"]*)"|'([^']*)'|(\S*))/g)]
  for (const [, name, double, single, bare] of pairs) set(name!, double ?? single ?? bare ?? '', values, overrides)
  if (pairs.length > 0) return
  const [name = '', value] = rest.split(/\s+/, 2)
  if (value !== undefined || Object.hasOwn(overrides, name)) set(name, value ?? '', values, overrides)
}

function set(
  name: string,
  declaredValue: string,
  values: Map<string, string>,
  overrides: Readonly<Record<string, string>>,
): void {
  const value = Object.hasOwn(overrides, name) ? overrides[name]! : declaredValue
  values.set(name, substitute(value, values, maxLength).text)
}
