import type { Unit } from './plan.ts'
import { mark, marks } from './variable-mark.ts'

/** Where a Compose file asks for a secret variable, the plan holds a mark; the value is put in when the plan is carried out. */
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
