import { randomBytes } from 'node:crypto'
import { refuse } from '../../platform/failure.ts'
import { randomCode } from '../access/index.ts'
import type { HeaderVariable } from './header-shape.ts'
import type { Template } from './read-template.ts'

/** Address of the new project; null: it has none. */
export interface NewAddress {
  url: string | null
}

export interface NewValue {
  key: string
  value: string
  isSecret: boolean
}

const references = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Refuses values for variables that the template does not have, and values that do not match its pattern. */
export function checkValues({ variables, title }: Template, given: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(given)) {
    const variable = variables.find((one) => one.name === name)
    if (!variable)
      refuse(
        `variables.${name}`,
        `${title} has no such variable. It has ${variables.map((one) => one.name).join(', ') || 'none'}.`,
      )
    if (value === '' && variable.generate) refuse(`variables.${name}`, 'must not be empty')
    if (variable.pattern && !new RegExp(variable.pattern).test(value))
      refuse(`variables.${name}`, `must match ${variable.pattern}`)
  }
}

/** The variables of the new project: given values first, then generated ones and defaults. */
export function newValues(template: Template, given: Readonly<Record<string, string>>, { url }: NewAddress): NewValue[] {
  const known: Record<string, string> = { URL: url ?? '', HOSTNAME: url === null ? '' : new URL(url).hostname }
  return template.variables.map((variable) => {
    const { name } = variable
    const value = Object.hasOwn(given, name) ? (given[name] as string) : defaultOf(variable, known)
    known[name] = value
    return { key: name, value, isSecret: isSecret(variable) }
  })
}

export const isSecret = ({ generate, isSecret: declared }: HeaderVariable): boolean => declared ?? generate !== undefined

const defaultOf = ({ value, generate }: HeaderVariable, known: Readonly<Record<string, string>>): string =>
  generate ? generated(generate) : (value ?? '').replace(references, (_, name: string) => known[name] ?? '')

function generated({ kind, length }: NonNullable<HeaderVariable['generate']>): string {
  if (kind === 'hex') return randomBytes(length).toString('hex')
  if (kind === 'base64') return randomBytes(length).toString('base64')
  return randomCode(length)
}
