import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../database.ts'
import { iso } from '../db/columns.ts'
import type { Db } from '../db/schema.ts'
import { Every } from '../jobs/every.ts'
import type { Log } from '../log.ts'
import { findMachine, type MachineFacts, type MachineRow, releaseMachine, renewMachine, replaceMachine } from './machine-store.ts'

/** Projects on this database run on another machine, or another process has the same machine id; the message names it. */
export class MachineRefused extends Error {
  override readonly name = 'MachineRefused'
}

export type MachineIdentity = Pick<MachineRow, 'id' | 'hostname' | 'dataDir' | 'role' | 'location'>

export interface ClaimOptions {
  /** Time without a heartbeat after which a process counts as ended. */
  leaseMs: number
  /** Replaces another machine, which must be stopped. */
  takeOver: boolean
  /** Runs in the transaction of the claim: assigns the instances and volumes to this machine. */
  assign(db: Db): Promise<void>
  log: Log
}

export interface MachineLease {
  id: string
  /** Resolves with a message when another machine or process has taken over; this process must stop. */
  readonly lost: Promise<string>
  /** Records how the machine runs projects, now and with each heartbeat. */
  describe(facts: () => MachineFacts): Promise<void>
  /** Ends the heartbeat and records the end. */
  release(): Promise<void>
}

/**
 * Makes this machine the one that runs projects on the database. The caller holds the lock of its data folder. Rejects with
 * `MachineRefused` if another machine has them. Waits at most one lease for a process that may have died.
 */
export async function claimMachine(database: Database, identity: MachineIdentity, options: ClaimOptions): Promise<MachineLease> {
  const { leaseMs, assign } = options
  const sessionToken = randomBytes(16).toString('hex')
  let lastSeen: MachineRow | undefined
  for (;;) {
    const holder = await database.transaction(async ({ db, lock }) => {
      await lock('machines')
      const found = await findMachine(db, database.kind)
      if (found && !mayReplace(found, database.kind, identity, options)) return found
      await replaceMachine(db, database.kind, { ...identity, sessionToken })
      await assign(db)
      return null
    })
    if (!holder) return keepLease(database, identity.id, sessionToken, options)
    // A heartbeat since the last check proves that the other process runs.
    if (lastSeen && (lastSeen.seenAt !== holder.seenAt || lastSeen.sessionToken !== holder.sessionToken))
      throw new MachineRefused(runningMessage(holder, identity))
    lastSeen = holder
    await pause(Math.min(1_000, leaseMs / 10))
  }
}

/** Rejects with `MachineRefused` if another machine has the projects, as `claimMachine` does; writes nothing. */
export async function refuseOtherMachine(
  { db, kind }: Pick<Database, 'db' | 'kind'>,
  { id }: Pick<MachineIdentity, 'id'>,
  { takeOver }: Pick<ClaimOptions, 'takeOver'>,
): Promise<void> {
  const holder = await findMachine(db, kind)
  if (kind === 'postgres' && holder && holder.id !== id && !takeOver) throw new MachineRefused(otherMachineMessage(holder))
}

/** Whether this machine may replace the recorded one. False while the other process may still run: its next heartbeat shows it. */
function mayReplace(
  holder: NonNullable<Awaited<ReturnType<typeof findMachine>>>,
  kind: Database['kind'],
  { id, location }: MachineIdentity,
  { leaseMs, takeOver }: ClaimOptions,
): boolean {
  // The SQLite file is in the data folder, which this process has locked.
  if (kind === 'sqlite') return true
  if (holder.id !== id && !takeOver) throw new MachineRefused(otherMachineMessage(holder))
  if (holder.sessionToken === null) return true
  // The lock of the data folder proves that the former process has ended.
  if (holder.id === id && holder.location === location) return true
  return holder.now - holder.seenAt >= leaseMs
}

function keepLease(database: Database, id: string, sessionToken: string, { leaseMs, log }: ClaimOptions): MachineLease {
  const { promise: lost, resolve: onLost } = Promise.withResolvers<string>()
  let factsOf: (() => MachineFacts) | undefined
  const heartbeat = new Every(
    leaseMs / 3_000,
    async () => {
      if (await renewMachine(database, sessionToken, factsOf?.())) return
      onLost(lostMessage(await findMachine(database.db, database.kind)))
    },
    log,
  )
  heartbeat.start()
  return {
    id,
    lost,
    async describe(facts) {
      factsOf = facts
      await renewMachine(database, sessionToken, facts())
    },
    async release() {
      await heartbeat.stop()
      await releaseMachine(database, sessionToken).catch((error: unknown) =>
        log.warn({ err: error }, 'machines: end not recorded, the next start on another machine waits for the lease'),
      )
    },
  }
}

const describe = ({ hostname, dataDir, startedAt }: MachineRow) => `${hostname} (data folder ${dataDir}, since ${iso(startedAt)})`

const otherMachineMessage = (holder: MachineRow) =>
  [
    `The projects of this database run on another machine: ${describe(holder)}.`,
    `Its last heartbeat was at ${iso(holder.seenAt)}.`,
    'A second machine cannot run projects on the same PostgreSQL, because the volumes are on the first one.',
    'Add this machine as an SSH server (berth servers add), or start it with BERTH_ROLE=api.',
    'If the first machine is lost, or its data folder was copied here, stop it and run berth up --take-over.',
  ].join(' ')

const runningMessage = (holder: MachineRow, { id }: MachineIdentity) =>
  holder.id === id
    ? `This data folder is a copy of one that is in use by ${describe(holder)}. Stop that process first, or start this one with BERTH_ROLE=api and an empty data folder.`
    : `Cannot take over: ${describe(holder)} is still running. Stop it first.`

const lostMessage = (holder: MachineRow | undefined) =>
  holder
    ? `The projects of this instance were taken over by ${describe(holder)}. This process stops.`
    : 'The record of this machine was removed from the database. This process stops.'
