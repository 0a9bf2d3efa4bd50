import { randomBytes } from 'node:crypto'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { AttackScene } from './backup-attack-scene.ts'
import { changingVolume, losing, powerCuts, tampering } from './backup-attacks-outside.ts'

const isRefused = (status: number) => status >= 400 && status < 500
const refusedTo = (status: number) => status === 401 || status === 403 || status === 404

/** Each returns the number of attempts. */
export const attacks: Record<string, (scene: AttackScene) => Promise<number>> = {
  'a path of the machine as destination': namedPaths,
  'callers without permission': outsiders,
  'guessed tokens': guesses,
  'bodies made to hurt': hostileBodies,
  'a volume that changes': changingVolume,
  'a destination that was tampered with': tampering,
  'a destination that loses what it had': losing,
  'the same at once': races,
  'the power cut': powerCuts,
}

async function namedPaths({ request: ask, tokens, hosting, stored, wrong, place: folder }: AttackScene): Promise<number> {
  const paths = [
    '/etc',
    '/',
    '/root/.ssh',
    '../..',
    'a/../../..',
    `${stored}/../../..`,
    'x\0y',
    '~',
    '/proc/self/root',
    '.',
    '',
    'nightly/../../docker',
  ]
  const link = join(hosting.berth.dataFolder, 'backups', 'link')
  await mkdir(dirname(link), { recursive: true })
  await rm(link, { force: true })
  await symlink(folder.path, link)
  let tries = 0
  for (const path of paths) {
    for (const token of [tokens.member, tokens.viewer, tokens.limited]) {
      const { status } = await ask(token, 'POST', '/backup-destinations', { name: 'x', kind: 'local', config: { path } })
      if (!isRefused(status)) wrong(`a member named the local path ${JSON.stringify(path)}: ${status}`)
      tries += 1
    }
    const own = await hosting.api('POST', '/backup-destinations', { name: 'x', kind: 'local', config: { path } })
    const where: string = own.body.data?.config?.path ?? ''
    if (own.status === 201 && !where.startsWith(join(hosting.berth.dataFolder, 'backups')))
      wrong(`a destination is at ${where}, outside of what is allowed`)
    if (own.body.data?.id) await hosting.api('DELETE', `/backup-destinations/${own.body.data.id}`)
  }
  const linked = await hosting.api('POST', '/backup-destinations', { name: 'x', kind: 'local', config: { path: 'link' } })
  if (linked.status === 201) {
    const check = await hosting.api('POST', `/backup-destinations/${linked.body.data.id}/check`)
    if (check.body.data?.ok !== false) wrong('a link below the root was followed')
    await hosting.api('DELETE', `/backup-destinations/${linked.body.data.id}`)
  }
  await rm(link, { force: true })
  return tries + paths.length + 1
}

async function outsiders({
  request: ask,
  tokens,
  backups,
  policyId,
  project,
  destinationId,
  wrong,
}: AttackScene): Promise<number> {
  const { id } = await backups.backUp(policyId)
  const { restoreId } = await backups.prepare(id)
  const reads = [
    `/backup-runs/${id}`,
    `/backup-runs/${id}/stream`,
    `/backup-restores/${restoreId}`,
    `/backup-restores/${restoreId}/stream`,
  ]
  const writes: [string, string, object?][] = [
    ['POST', `/backup-policies/${policyId}/run`],
    ['PATCH', `/backup-policies/${policyId}`, { preCommand: 'id' }],
    ['DELETE', `/backup-policies/${policyId}`],
    ['POST', `/backup-runs/${id}/protect`, { protected: true }],
    ['POST', `/backup-runs/${id}/restore/prepare`, {}],
    ['POST', `/backup-runs/${id}/cancel`],
    ['POST', `/backup-restores/${restoreId}/apply`, { confirmationToken: `brc_${'a'.repeat(40)}` }],
    ['POST', `/backup-restores/${restoreId}/cancel`],
    ['POST', `/projects/${project.id}/backup-policies`, { destinationId }],
    ['DELETE', `/backup-destinations/${destinationId}`],
    ['PATCH', `/backup-destinations/${destinationId}`, { config: { path: '/etc' } }],
  ]
  for (const token of [tokens.limited, tokens.none, null])
    for (const path of reads) {
      const { status } = await ask(token, 'GET', path)
      if (!refusedTo(status))
        wrong(
          `GET ${path} was answered ${status} to ${token === tokens.limited ? 'a limited token' : 'a caller without a token'}`,
        )
    }
  for (const token of [tokens.viewer, tokens.limited, tokens.none, null])
    for (const [method, path, body] of writes) {
      const { status } = await ask(token, method, path, body)
      if (!refusedTo(status) && !isRefused(status))
        wrong(`${method} ${path} was answered ${status} to a caller without permission`)
    }
  await backups.restored(
    restoreId,
    (restore) => restore.verification.status !== 'pending' && restore.verification.status !== 'running',
  )
  return 3 * reads.length + 4 * writes.length
}

async function guesses({ request: ask, hosting, backups, policyId, wrong, read, write }: AttackScene): Promise<number> {
  const { body } = await hosting.api('PATCH', `/backup-policies/${policyId}`, { enableWebhook: true })
  const token: string = body.data.webhookToken ?? ''
  const answers = new Set<string>()
  const near = [
    token.slice(0, -1),
    `${token}a`,
    token.toUpperCase(),
    token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    '',
    ' ',
    'x'.repeat(5000),
  ]
  const guessed = [...near, ...Array.from({ length: 60 }, () => `bwh_${randomBytes(20).toString('hex')}`)]
  for (const guess of guessed) {
    const { status, body: text } = await ask(guess, 'POST', '/webhooks/backup').catch(() => ({ status: 0, body: '' }))
    if (status !== 0 && status !== 429) answers.add(`${status} ${text.replace(/"requestId":"[^"]*"/, '')}`)
  }
  if (answers.size > 1 || ![...answers].every((answer) => answer.startsWith('404')))
    wrong(`webhook guesses were told apart: ${[...answers].join(' | ')}`)
  await hosting.api('PATCH', `/backup-policies/${policyId}`, { enableWebhook: false })
  if ((await ask(token, 'POST', '/webhooks/backup')).status !== 404) wrong('a webhook that was turned off started a run')
  await write('before the guesses')
  const { id } = await backups.backUp(policyId)
  await write('after it')
  const { restoreId, confirmationToken } = await backups.prepare(id)
  const wrongOnes = [
    confirmationToken.slice(1),
    `${confirmationToken} `,
    confirmationToken.toUpperCase(),
    '',
    null,
    7,
    [confirmationToken],
    { $ne: '' },
  ]
  for (const confirmation of wrongOnes) {
    const answer = await hosting.api('POST', `/backup-restores/${restoreId}/apply`, { confirmationToken: confirmation })
    if (answer.status !== 400) wrong(`the confirmation ${JSON.stringify(confirmation)} was answered ${answer.status}`)
  }
  const { status } = (await hosting.api('GET', `/backup-restores/${restoreId}`)).body.data
  if (status !== 'staged' || (await read()) !== 'after it') wrong(`after wrong confirmations the restore is ${status}`)
  await hosting.api('POST', `/backup-restores/${restoreId}/cancel`)
  return guessed.length + wrongOnes.length + 1
}

async function hostileBodies({ hosting, project, destinationId, request: ask, wrong }: AttackScene): Promise<number> {
  const bodies: unknown[] = [
    {
      payload: {
        exclude: ['(a+)+$', '*'.repeat(200), `${'**/'.repeat(60)}x`, `${'a*'.repeat(90)}b`, '[', '\\', '!'.repeat(100)],
      },
    },
    { payload: { exclude: Array.from({ length: 5_000 }, (_, at) => `${'a*'.repeat(20)}${at}`) } },
    { payload: { volumes: ['../data', '', 'data\0', '__proto__'] } },
    { payload: { databases: 'drop' } },
    { cronExpression: '* * * * * * *' },
    { cronExpression: '*/0 * * * *' },
    { cronExpression: `${'0,'.repeat(5_000)}0 * * * *` },
    { cronExpression: '0 0 31 2 *' },
    { cronExpression: '0 3 * * *', timezone: '../../etc/passwd' },
    { preCommand: 'x'.repeat(200_000) },
    { preCommand: 'a\0b' },
    { retainCount: -1 },
    { retainDays: 1e300 },
    { serviceId: { $gt: '' } },
    '{"__proto__":{"isOperator":true}}',
    '[]',
    '{',
    `${'['.repeat(50_000)}`,
  ]
  for (const given of bodies) {
    const body = typeof given === 'string' ? given : { destinationId, ...(given as object) }
    const answer = await requestAsOwner(hosting, `/projects/${project.id}/backup-policies`, body)
    if (answer.status >= 500) wrong(`the policy ${JSON.stringify(given).slice(0, 80)} was answered ${answer.status}`)
    const id = answer.status === 201 ? (JSON.parse(answer.body).data.id as string) : undefined
    if (!id) continue
    const started = await hosting.api('POST', `/backup-policies/${id}/run`)
    for (let at = 0; started.status === 202 && at < 5; at += 1) {
      const { ms } = await ask(null, 'GET', '/health')
      if (ms > 3_000) wrong(`with the policy ${JSON.stringify(given).slice(0, 80)} /health took ${Math.round(ms)} ms`)
      await pause(200)
    }
    if (started.status === 202) await hosting.api('POST', `/backup-runs/${started.body.data.runId}/cancel`)
    await hosting.api('DELETE', `/backup-policies/${id}`)
  }
  return bodies.length
}

async function requestAsOwner(
  hosting: AttackScene['hosting'],
  path: string,
  body: unknown,
): Promise<{ status: number; body: string }> {
  const answer = await hosting.api('POST', path, body)
  return { status: answer.status, body: typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body) }
}

async function races({ backups, hosting, policyId, project, destinationId, write, read, wrong }: AttackScene): Promise<number> {
  const starts = await Promise.all(Array.from({ length: 8 }, () => hosting.api('POST', `/backup-policies/${policyId}/run`)))
  const started = starts.filter(({ status }) => status === 202)
  if (started.length !== 1) wrong(`${started.length} of 8 runs of one policy were started at once`)
  await backups.ended(started[0]?.body.data.runId)
  await write('raced before')
  const { id } = await backups.backUp(policyId)
  await write('raced after')
  const prepared = await backups.prepare(id)
  const body = { confirmationToken: prepared.confirmationToken }
  const applies = await Promise.all(
    Array.from({ length: 6 }, () => hosting.api('POST', `/backup-restores/${prepared.restoreId}/apply`, body)),
  )
  if (applies.filter(({ status }) => status === 202).length !== 1)
    wrong(`applies at once: ${applies.map(({ status }) => status).join(' ')}`)
  const { status } = await backups.restored(prepared.restoreId)
  if (status !== 'succeeded' || (await read()) !== 'raced before') wrong(`the one that won ended as ${status}`)
  const again = await backups.prepare(id)
  await write('cancelled meanwhile')
  await Promise.all([
    hosting.api('POST', `/backup-restores/${again.restoreId}/apply`, { confirmationToken: again.confirmationToken }),
    pause(Math.random() * 400).then(() => hosting.api('POST', `/backup-restores/${again.restoreId}/cancel`)),
  ])
  const cancelled = await backups.restored(
    again.restoreId,
    (restore) => ['succeeded', 'failed', 'cancelled'].includes(restore.status) && restore.dataState !== 'partly_written',
  )
  const expected = cancelled.dataState === 'restored' ? 'raced before' : 'cancelled meanwhile'
  for (let tries = 0; (await read()) !== expected; tries += 1) {
    if (tries === 100) {
      wrong(`cancelled while it was applied: ${cancelled.dataState}, and there is ${await read()}`)
      break
    }
    await pause(100)
  }
  const brief = await backups.policy(project.id, { destinationId })
  const runId = await backups.start(brief)
  await pause(Math.random() * 300)
  await hosting.api('DELETE', `/backup-policies/${brief}`)
  await backups.ended(runId)
  return 17
}
