import { chmodSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { socketAddress } from '@berth/server/socket-path'
import { errorText } from '../error-text.ts'
import { CliError } from '../exit-codes.ts'
import type { UpgradeResult } from './run-upgrade.ts'
import type { Step } from './upgrade-record.ts'

/** A request to the supervisor of an instance: which version runs, or an upgrade to an installed version. */
export type UpgradeRequest = { call: 'version' } | { call: 'upgrade'; to: string }

export type UpgradeMessage =
  | { event: 'version'; version: string }
  | { event: 'step'; step: Step; note?: string }
  | { event: 'result'; result: UpgradeResult }
  | { event: 'refused'; message: string }

export type UpgradeHandler = (
  request: UpgradeRequest,
  send: (message: UpgradeMessage) => void,
  abort: AbortSignal,
) => Promise<void>

/** Listens for requests: JSON lines, one request a connection. `abort` fires when the client disconnects. */
export function serveUpgrades(path: string, handle: UpgradeHandler): void {
  // The caller holds the data folder: a socket that exists is left over from a supervisor that was killed.
  rmSync(path, { force: true })
  const server = createServer((socket) => void serveOne(socket, handle))
  server.on('error', () => undefined)
  server.listen(socketAddress(path), () => chmodSync(path, 0o600))
  server.unref()
}

async function serveOne(socket: Socket, handle: UpgradeHandler): Promise<void> {
  const gone = new AbortController()
  socket.on('error', () => undefined)
  socket.on('close', () => gone.abort())
  const send = (message: UpgradeMessage) => void (socket.writable && socket.write(`${JSON.stringify(message)}\n`))
  try {
    const { value } = await lines(socket).next()
    await handle(JSON.parse(value ?? '') as UpgradeRequest, send, gone.signal)
  } catch (error) {
    send({ event: 'refused', message: errorText(error) })
  } finally {
    socket.end()
  }
}

const lines = (socket: Socket) => createInterface({ input: socket })[Symbol.asyncIterator]()

/** The version that a supervised instance runs. Null if no supervisor listens. */
export async function runningVersion(path: string): Promise<string | null> {
  for await (const message of call(path, { call: 'version' })) if (message.event === 'version') return message.version
  return null
}

/** Has the supervisor run the upgrade. It continues if this process ends after the control plane was stopped. */
export async function upgradeRunning(
  path: string,
  to: string,
  onStep: (step: Step, note?: string) => void,
): Promise<UpgradeResult> {
  for await (const message of call(path, { call: 'upgrade', to })) {
    if (message.event === 'step') onStep(message.step, message.note)
    if (message.event === 'refused') throw new CliError(message.message)
    if (message.event === 'result') return message.result
  }
  throw new CliError('The instance ended during the upgrade. The next berth up finishes it or goes back.')
}

/** Yields nothing if no process listens. */
async function* call(path: string, request: UpgradeRequest): AsyncGenerator<UpgradeMessage> {
  const socket = await open(path)
  if (!socket) return
  try {
    socket.write(`${JSON.stringify(request)}\n`)
    for await (const line of createInterface({ input: socket })) yield JSON.parse(line) as UpgradeMessage
  } finally {
    socket.destroy()
  }
}

function open(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketAddress(path))
    socket.on('error', () => resolve(undefined))
    socket.once('connect', () => resolve(socket))
  })
}
