import type { Compilable, CompiledQuery } from 'kysely'
import { storedValue } from './columns.ts'
import { type DirectReads, directReadsOf } from './direct-reads.ts'
import { assertOutsideTransaction } from './open-transaction.ts'
import type { Db } from './schema.ts'

export interface PreparedQuery<Parameters, Row> {
  all(db: Db, parameters: Parameters): Promise<Row[]>
  first(db: Db, parameters: Parameters): Promise<Row | undefined>
}

/**
 * A query for the hot path: Kysely builds and compiles it once a database, and a call only swaps the parameters.
 * `build` must put each parameter where a single value stands, and may not look at it: it gets placeholders.
 */
export function preparedQuery<Parameters extends Record<string, string | number | boolean | null>, Row>(
  build: (db: Db, parameters: Parameters) => Compilable<Row>,
): PreparedQuery<Parameters, Row> {
  const plans = new WeakMap<object, Plan>()
  const all = async (db: Db, parameters: Parameters): Promise<Row[]> => {
    const adapter = db.getExecutor().adapter
    const plan = plans.get(adapter) ?? makePlan(db, build as Build)
    plans.set(adapter, plan)
    const values = plan.values.map((value) => (value instanceof Slot ? storedValue(parameters[value.name]) : value))
    if (plan.direct && !db.isTransaction) {
      assertOutsideTransaction()
      return (await plan.direct.read(plan.compiled.sql, values)) as Row[]
    }
    return (await db.executeQuery<Row>({ ...plan.compiled, parameters: values })).rows
  }
  return { all, first: async (db, parameters) => (await all(db, parameters))[0] }
}

type Build = (db: Db, parameters: Record<string, never>) => Compilable<unknown>

interface Plan {
  compiled: CompiledQuery
  /** What Kysely compiled in: fixed values, and a slot for each parameter. */
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
  const reads = compiled.query.kind === 'SelectQueryNode'
  return { compiled, values: compiled.parameters, direct: reads ? directReadsOf(db) : undefined }
}
