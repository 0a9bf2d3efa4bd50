import type { Unit } from './plan.ts'

/**
 * A plan is kept as it is, while variables are sealed. So where a Compose file asks for a secret one, the plan holds a mark
 * in its place, and the value is put in when the plan is carried out.
 */
const mark = (name: string) => `\u0002${name}\u0003`
const marks = /\u0002([A-Za-z_][A-Za-z0-9_]*)\u0003/g

export const withMarks = (values: Readonly<Record<string, string>>, secretKeys: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    // An empty value counts as none in many a file, and gives nothing away.
    Object.entries(values).map(([key, value]) => [key, value !== '' && secretKeys.includes(key) ? mark(key) : value]),
  )

const filled = (text: string, env: Readonly<Record<string, string>>) => text.replace(marks, (_, name: string) => env[name] ?? '')

/** The unit with values in the place of marks. */
export function withSecrets(unit: Unit, env: Readonly<Record<string, string>>): Unit {
  const words = (list: string[] | null) => list?.map((word) => filled(word, env)) ?? null
  const pairs = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, filled(value, env)]))
  return {
    ...unit,
    image: unit.image === null ? null : filled(unit.image, env),
    command: words(unit.command),
    entrypoint: words(unit.entrypoint),
    environment: pairs(unit.environment),
    build: unit.build && { ...unit.build, buildArguments: pairs(unit.build.buildArguments) },
    ...(unit.healthProgram ? { healthProgram: { ...unit.healthProgram, argv: words(unit.healthProgram.argv) ?? [] } } : {}),
  }
}
