import type { Compilable, CompiledQuery } from 'kysely'
import { type Awaitable, thenSync } from '../awaitable.ts'
import { storedValue } from './columns.ts'
import { type DirectReads, directReadsOf, directStatementsOf } from './direct-reads.ts'
import { assertOutsideTransaction } from './open-transaction.ts'
import type { Db } from './schema.ts'

export interface PreparedQuery<Parameters, Row> {
  /** Callers must not change the rows: the next caller may get the same objects. */
  all(db: Db, parameters: Parameters): Awaitable<readonly Row[]>
  first(db: Db, parameters: Parameters): Awaitable<Row | undefined>
}

export type QueryParameter = string | number | boolean | null

/**
 * A query for the hot path: Kysely builds and compiles it once per database and set of given parameters, and a call only swaps
 * their values. `build` receives placeholders: it must use each parameter as a single value, and may only compare an optional
 * parameter with undefined.
 */
export function preparedQuery<Parameters extends { [Name in keyof Parameters]?: QueryParameter | undefined }, Row>(
  build: (db: Db, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  const plans = new WeakMap<object, Plan[]>()
  const planOf = (db: Db, parameters: Record<string, unknown>): Plan => {
    const { adapter } = db.getExecutor()
    const known = plans.get(adapter) ?? []
    for (const plan of known) if (isPlanFor(plan, parameters)) return plan
    const given = Object.keys(parameters).filter((name) => parameters[name] !== undefined)
    const plan = makePlan(db, build as Build, given)
    plans.set(adapter, [...known, plan])
    return plan
  }
  const all = (db: Db, parameters: Parameters): Awaitable<readonly Row[]> => {
    const { values: slots, compiled, direct } = planOf(db, parameters)
    const values = slots.map((value) =>
      value instanceof Slot ? storedValue((parameters as Record<string, unknown>)[value.name]) : value,
    )
    const statements = db.isTransaction ? directStatementsOf(db) : undefined
    if (statements) return statements.run(compiled, values) as readonly Row[]
    if (!direct || db.isTransaction) return db.executeQuery<Row>({ ...compiled, parameters: values }).then(({ rows }) => rows)
    assertOutsideTransaction()
    return direct.read(compiled.sql, values) as Awaitable<readonly Row[]>
  }
  return { all, first: (db, parameters) => thenSync(all(db, parameters), ([row]) => row) }
}

type Build = (db: Db, parameters: Record<string, never>) => Compilable<unknown>

interface Plan {
  /** Names of the parameters that are not undefined, in their order. */
  given: readonly string[]
  compiled: CompiledQuery
  /** Parameters as Kysely compiled them: fixed values, and a slot for each parameter. */
  values: readonly unknown[]
  direct: DirectReads | undefined
}

class Slot {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

function isPlanFor({ given }: Plan, parameters: Record<string, unknown>): boolean {
  let at = 0
  for (const name in parameters) {
    if (parameters[name] === undefined) continue
    if (given[at] !== name) return false
    at += 1
  }
  return at === given.length
}

function makePlan(db: Db, build: Build, given: readonly string[]): Plan {
  const slots = Object.fromEntries(given.map((name) => [name, new Slot(name) as never]))
  const compiled = build(db, slots).compile()
  const isSelect = compiled.query.kind === 'SelectQueryNode'
  const direct = directReadsOf(db)
  direct?.notePrepared?.(compiled.sql)
  return { given, compiled, values: compiled.parameters, direct: isSelect ? direct : undefined }
}
