import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { backupsOf } from './backups.ts'
import { getPage, type Hosting, serving, writeApp } from './hosting.ts'

/** Objects of every kind that the dashboard shows, created with the public API. */
export interface Filled {
  projectId: string
  deploymentId: string
  serverId: string
  invitationUrl: string
  /** A project whose deployment failed. */
  brokenId: string
  longNamedId: string
}

const keeper = `
import { createServer } from 'node:http'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
writeFileSync(join(process.env.BERTH_VOLUME_DATA, 'orders.json'), JSON.stringify({ orders: 12 }))
console.log('shop is open on', process.env.PORT)
createServer((request, response) => {
  console.log(request.method, request.url)
  if (request.url === '/broken') { console.error('no such shelf'); response.writeHead(500).end('broken') }
  else if (request.url === '/missing') response.writeHead(404).end('missing')
  else response.end('the shop')
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

export async function fillInstance(hosting: Hosting): Promise<Filled> {
  const { api, folder, makeProject, deploy, settled } = hosting
  const make = async (path: string, body: object, method = 'POST') => {
    const { status, body: answer } = await api(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`)
    return answer.data
  }
  const scopes = ['project:read', 'project:write']
  const { token } = await make('/tokens', { name: 'build machine', scopes, expiresInDays: 90 })
  await writeApp(join(folder, 'shop'), keeper)
  const shop = await makeProject({
    name: 'Harbour shop',
    gitProvider: 'upload',
    uploadSessionId: await upload(hosting, token, join(folder, 'shop')),
    volumes: [{ name: 'data', mountPath: '/data' }],
    healthCheck: { path: '/' },
  })
  const id = shop.id
  await settled(await deploy(id))
  const deploymentId = await deploy(id)
  await settled(deploymentId)
  await make(
    `/projects/${id}/env`,
    {
      upserts: [
        { key: 'DATABASE_URL', value: 'postgres://shop:secret@db/shop', isSecret: true },
        { key: 'PUBLIC_NAME', value: 'Harbour shop', isSecret: false },
        { key: 'A_VERY_LONG_NAME_THAT_SOMEBODY_CHOSE_ON_PURPOSE', value: 'x'.repeat(120), isSecret: false },
      ],
    },
    'PATCH',
  )
  const request = (path: string) => getPage(hosting.berth.edgeUrl, `${shop.slug}.localhost`, path)
  for (let at = 0; at < 12; at++) await request(['/', '/shelf', '/missing', '/broken'][at % 4]!)
  await make(`/projects/${id}/connect`, { domain: 'shop.example.com' })
  await make(`/projects/${id}/route-rules`, {
    kind: 'rate-limit',
    pathPrefix: '/login',
    config: { requests: 20, windowSeconds: 60 },
  })
  await make(`/projects/${id}/route-rules`, { kind: 'ban', dryRun: true, config: { ips: ['203.0.113.0/24'] } })
  await make(`/projects/${id}/environments`, { name: 'Staging', branch: 'staging' })
  const backups = backupsOf(hosting)
  const destinationId = await backups.destination('local', { path: 'nightly' })
  const policyId = await backups.policy(id, { destinationId, cronExpression: '0 3 * * *', retainCount: 7 })
  await backups.backUp(policyId)
  await writeApp(join(folder, 'broken'), 'console.error("the configuration is missing"); process.exit(1)\n')
  const broken = await makeProject({
    name: 'Broken on purpose',
    localPath: join(folder, 'broken'),
    healthCheck: { path: '/', timeoutSeconds: 5 },
  })
  await settled(await deploy(broken.id))
  await writeApp(join(folder, 'quiet'), serving('quiet'))
  const named = 'A project whose name is as long as names may be, because some users always try that out sooner or later'
  const longNamed = await makeProject({ name: named.slice(0, 100), localPath: join(folder, 'quiet') })
  await makeProject({ name: 'Not deployed yet', localPath: join(folder, 'quiet') })
  const invitation = await make('/invitations', { email: 'newcomer@example.test', role: 'member' })
  const viewer = await make('/invitations', { email: 'viewer@example.test', role: 'viewer' })
  await make('/invitations/accept', {
    code: viewer.code,
    email: 'viewer@example.test',
    password: viewerPassword,
    name: 'Vera Viewer',
  })
  await make('/notifications/channels', { kind: 'email', label: 'My mailbox', config: { address: 'owner@example.test' } })
  const server = await make('/servers', { name: 'harbour-1', host: '192.0.2.10', user: 'deploy', password: 'secret' })
  return {
    projectId: id,
    deploymentId,
    serverId: server.id,
    invitationUrl: invitation.url,
    brokenId: broken.id,
    longNamedId: longNamed.id,
  }
}

/** Uploads a folder as the CLI and the dashboard do, and returns its session. */
async function upload({ api, berth }: Hosting, token: string, folder: string): Promise<string> {
  const packed = await promisify(execFile)('tar', ['-cz', '-C', folder, '.'], { encoding: 'buffer' })
  const { sessionId, upload: to } = (await api('POST', '/projects/folder/session', { name: 'shop' })).body.data
  const headers = { ...to.headers, authorization: `Bearer ${token}` }
  const sent = await fetch(new URL(to.url, berth.url), { method: to.method, headers, body: new Uint8Array(packed.stdout) })
  if (!sent.ok) throw new Error(`the upload was answered ${sent.status}: ${await sent.text()}`)
  return sessionId
}

const viewerPassword = 'look but do not touch'
export const viewerSignIn = { email: 'viewer@example.test', password: viewerPassword }

/** Addresses that are shown without signing in. */
export const frontAddressesOf = ({ invitationUrl }: Filled): Record<string, string> => ({
  'sign-in': '/sign-in',
  setup: '/setup?code=none',
  'reset-password': '/reset-password',
  invitation: new URL(invitationUrl).pathname,
  'sign-up': '/sign-up?code=none&email=ada@example.test',
})

/** Every address of the dashboard, with the instance's own ids in it. */
export const addressesOf = ({
  projectId,
  deploymentId,
  serverId,
}: Pick<Filled, 'projectId' | 'deploymentId' | 'serverId'>): Record<string, string> => ({
  projects: '/',
  new: '/new',
  'new-repository': '/new?from=repository',
  project: `/projects/${projectId}`,
  'project-deployments': `/projects/${projectId}/deployments`,
  'project-deployment': `/projects/${projectId}/deployments/${deploymentId}`,
  'project-logs': `/projects/${projectId}/logs`,
  'project-requests': `/projects/${projectId}/requests`,
  'project-env': `/projects/${projectId}/env`,
  'project-domains': `/projects/${projectId}/domains`,
  'project-rules': `/projects/${projectId}/rules`,
  'project-git': `/projects/${projectId}/git`,
  'project-resources': `/projects/${projectId}/resources`,
  'project-backups': `/projects/${projectId}/backups`,
  'project-tasks': `/projects/${projectId}/tasks`,
  'project-environments': `/projects/${projectId}/environments`,
  'project-settings': `/projects/${projectId}/settings`,
  deployments: '/deployments',
  backups: '/backups',
  notifications: '/notifications',
  'notifications-settings': '/notifications/settings',
  git: '/git',
  servers: '/servers',
  server: `/servers/${serverId}`,
  cloud: '/cloud',
  'organization-members': '/organization/members',
  'organization-invitations': '/organization/invitations',
  'organization-tokens': '/organization/tokens',
  'organization-audit': '/organization/audit',
  'organization-settings': '/organization/settings',
  account: '/account',
})
