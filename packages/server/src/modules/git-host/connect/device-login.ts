import { type ConnectPoll, type ConnectReply, type GitHostProvider, hasPermission } from '@berth/contract'
import type { DevicePoll } from '../../../drivers/git-host/git-host.ts'
import type { Caller } from '../../../http/handler.ts'
import { iso } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { GitDeviceLoginRow } from '../../../platform/db/tables/git-host.ts'
import { listConnections } from '../connections/connection-store.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { claimPoll, deleteDeviceLogin, endDeviceLogin, findDeviceLogin, putDeviceLogin, setPollInterval } from './device-store.ts'
import { storeAccount } from './store-account.ts'

/** Starts a device login. While one is pending, the same code is returned: two codes would confuse the user. */
export async function startDeviceLogin(
  { caller, provider }: { caller: Caller; provider: GitHostProvider },
  deps: GitHostDeps,
): Promise<ConnectReply> {
  const { db } = deps.database
  const { organizationId, userId } = caller
  const running = await findDeviceLogin(db, organizationId, userId, provider)
  if (running?.status === 'pending' && running.expiresAt > nowOf(deps) + 60_000) return showLogin(running)
  const login = await deps.hosts[provider].signIn.device!.start()
  deps.scrubber.register(login.deviceCode)
  const id = newId('gdl')
  const now = nowOf(deps)
  const row: GitDeviceLoginRow = {
    ...{ id, organizationId, userId, provider },
    deviceCode: deps.secretBox.seal(login.deviceCode, sealedFor.gitDeviceCode(id)),
    ...{ userCode: login.userCode, verificationUri: login.verificationUri, intervalSeconds: login.intervalSeconds },
    ...{ status: 'pending', message: null, nextPollAt: now + login.intervalSeconds * 1000 },
    ...{ expiresAt: login.expiresAt.getTime(), createdAt: now },
  }
  await putDeviceLogin(db, row)
  return showLogin(row)
}

const showLogin = ({ userCode, verificationUri, intervalSeconds, expiresAt }: GitDeviceLoginRow): ConnectReply => ({
  ...{ connected: false, flow: 'device_code', userCode, verificationUri, intervalSeconds },
  expiresAt: iso(expiresAt),
})

/** Progress of the caller's login. The host is polled no more often than it allows. */
export async function pollDeviceLogin(caller: Caller, provider: GitHostProvider, deps: GitHostDeps): Promise<ConnectPoll> {
  const { db } = deps.database
  const row = await findDeviceLogin(db, caller.organizationId, caller.userId, provider)
  if (!row) return withoutLogin(caller, provider, deps)
  if (row.status !== 'pending') return polled(row, row.status)
  const now = nowOf(deps)
  if (row.expiresAt <= now) return endLogin(row, 'expired', null, deps)
  // Polling the host may connect the account: a read-only caller gets the known state.
  if (!hasPermission(caller, 'gitprovider:write'))
    return polled({ ...row, message: 'Completing the login needs the permission gitprovider:write' }, 'pending')
  const { device } = deps.hosts[provider].signIn
  if (!device) return endLogin(row, 'error', notSetUp(provider), deps)
  // Of several concurrent polls, one asks the host; the others return the known state.
  if (!(await claimPoll(db, row, now))) return polled(row, 'pending')
  const deviceCode = deps.secretBox.open(row.deviceCode, sealedFor.gitDeviceCode(row.id))
  deps.scrubber.register(deviceCode)
  const response = await device.poll(deviceCode, { timeoutMs: 10_000 })
  return applyPoll(row, response, deps)
}

async function applyPoll(row: GitDeviceLoginRow, response: DevicePoll, deps: GitHostDeps): Promise<ConnectPoll> {
  const { db } = deps.database
  if (response.status === 'pending') {
    const intervalSeconds = Math.max(response.intervalSeconds ?? 0, row.intervalSeconds)
    if (intervalSeconds !== row.intervalSeconds) await setPollInterval(db, row.id, intervalSeconds)
    return polled({ ...row, intervalSeconds }, 'pending')
  }
  if (response.status === 'error') return endLogin(row, 'error', response.message, deps)
  if (response.status !== 'connected') return endLogin(row, response.status, null, deps)
  const access = { kind: 'token' as const, id: row.id, token: response.tokens.accessToken }
  await storeAccount(row, response.tokens, await deps.hosts[row.provider].account(access), deps)
  await deleteDeviceLogin(db, row.id)
  return { connected: true, status: 'connected', intervalSeconds: null, expiresAt: null, message: null }
}

const notSetUp = (provider: GitHostProvider): string =>
  `The ${hostTitles[provider]} login is no longer set up on this instance. Ask its operator to set it up under Git in the dashboard, or with BERTH_${provider.toUpperCase()}_CLIENT_ID, then connect again.`

const statusMessages: Partial<Record<ConnectPoll['status'], string>> = {
  denied: 'The login was denied at the git host',
  expired: 'The code has expired. Connect again to get a new code.',
}

async function endLogin(
  row: GitDeviceLoginRow,
  status: 'denied' | 'expired' | 'error',
  message: string | null,
  deps: GitHostDeps,
): Promise<ConnectPoll> {
  await endDeviceLogin(deps.database.db, row.id, status, message)
  return polled({ ...row, message }, status)
}

function polled({ intervalSeconds, expiresAt, message }: GitDeviceLoginRow, status: ConnectPoll['status']): ConnectPoll {
  const isPending = status === 'pending'
  return {
    connected: false,
    status,
    intervalSeconds: isPending ? intervalSeconds : null,
    expiresAt: isPending ? iso(expiresAt) : null,
    message: message ?? statusMessages[status] ?? null,
  }
}

async function withoutLogin(caller: Caller, provider: GitHostProvider, deps: GitHostDeps): Promise<ConnectPoll> {
  const rows = await listConnections(deps.database.db, caller.organizationId)
  const connected = rows.some((row) => row.provider === provider && row.trouble === null)
  return { connected, status: connected ? 'connected' : 'none', intervalSeconds: null, expiresAt: null, message: null }
}
