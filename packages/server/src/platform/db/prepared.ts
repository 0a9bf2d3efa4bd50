import type { Compilable, CompiledQuery } from 'kysely'
import { type Awaitable, thenSync } from '../awaitable.ts'
import { storedValue } from './columns.ts'
import { type DirectReads, directReadsOf } from './direct-reads.ts'
import { assertOutsideTransaction } from './open-transaction.ts'
import type { Db } from './schema.ts'

export interface PreparedQuery<Parameters, Row> {
  /** Callers must not change the rows: the next caller may get the same objects. */
  all(db: Db, parameters: Parameters): Awaitable<readonly Row[]>
  first(db: Db, parameters: Parameters): Awaitable<Row | undefined>
}

/**
 * A query for the hot path: Kysely builds and compiles it once per database, and a call only swaps the parameters. `build` receives
 * placeholders: it must use each parameter as a single value and must not inspect it.
 */
export function preparedQuery<Parameters extends Record<string, string | number | boolean | null>, Row>(
  build: (db: Db, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  const plans = new WeakMap<object, Plan>()
  const planOf = (db: Db): Plan => {
    const { adapter } = db.getExecutor()
    const cachedPlan = plans.get(adapter)
    if (cachedPlan) return cachedPlan
    const plan = makePlan(db, build as Build)
    plans.set(adapter, plan)
    return plan
  }
  const all = (db: Db, parameters: Parameters): Awaitable<readonly Row[]> => {
    const { values: slots, compiled, direct } = planOf(db)
    const values = slots.map((value) => (value instanceof Slot ? storedValue(parameters[value.name]) : value))
    if (!direct || db.isTransaction) return db.executeQuery<Row>({ ...compiled, parameters: values }).then(({ rows }) => rows)
    assertOutsideTransaction()
    return direct.read(compiled.sql, values) as Awaitable<readonly Row[]>
  }
  return { all, first: (db, parameters) => thenSync(all(db, parameters), ([row]) => row) }
}

type Build = (db: Db, parameters: Record<string, never>) => Compilable<unknown>

interface Plan {
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

function makePlan(db: Db, build: Build): Plan {
  const slots = new Proxy<Record<string, never>>({}, { get: (_target, name) => new Slot(String(name)) as never })
  const compiled = build(db, slots).compile()
  const isSelect = compiled.query.kind === 'SelectQueryNode'
  return { compiled, values: compiled.parameters, direct: isSelect ? directReadsOf(db) : undefined }
}
