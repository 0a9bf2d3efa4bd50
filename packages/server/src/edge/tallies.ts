import type { SwitchCounters } from '../drivers/edge/edge.ts'

/** The running account of one project or deployment. Routes hold theirs, so that a request costs no look-up. */
export interface Account {
  total: number
  failed: number
  underWay: number
  /** 0: never. */
  lastRequestAt: number
}

/** Numbers the control plane asks for: how requests ended, when a project was last used, which rules struck. */
export class Tallies {
  readonly #projects = new Map<string, Account>()
  readonly #deployments = new Map<string, Account>()
  #hits = new Map<string, number>()

  project(id: string): Account {
    return accountIn(this.#projects, id)
  }

  deployment(id: string): Account {
    return accountIn(this.#deployments, id)
  }

  hit(ruleId: string): void {
    this.#hits.set(ruleId, (this.#hits.get(ruleId) ?? 0) + 1)
  }

  takeHits(): Record<string, number> {
    const hits = Object.fromEntries(this.#hits)
    this.#hits = new Map()
    return hits
  }

  switchCounters(id: string): SwitchCounters {
    const { total, failed } = this.#projects.get(id) ?? this.#deployments.get(id) ?? { total: 0, failed: 0 }
    return { total, failed }
  }

  activity(now: number): Record<string, number> {
    const activity: Record<string, number> = {}
    for (const [id, account] of this.#projects)
      if (account.underWay > 0) activity[id] = now
      else if (account.lastRequestAt > 0) activity[id] = account.lastRequestAt
    return activity
  }

  /** Forgets what neither the table in force nor the one before it names. */
  keepOnly(ids: ReadonlySet<string>, idsBefore: ReadonlySet<string>): void {
    for (const accounts of [this.#projects, this.#deployments])
      for (const [id, account] of accounts) if (!ids.has(id) && !idsBefore.has(id) && account.underWay === 0) accounts.delete(id)
  }
}

export function beginRequest(account: Account, now: number): void {
  account.underWay += 1
  account.lastRequestAt = now
}

export function endRequest(account: Account, failed: boolean, now: number): void {
  account.underWay -= 1
  account.lastRequestAt = now
  countRequest(account, failed)
}

export function countRequest(account: Account, failed: boolean): void {
  account.total += 1
  if (failed) account.failed += 1
}

function accountIn(accounts: Map<string, Account>, id: string): Account {
  const known = accounts.get(id)
  if (known) return known
  const account = { total: 0, failed: 0, underWay: 0, lastRequestAt: 0 }
  accounts.set(id, account)
  return account
}
