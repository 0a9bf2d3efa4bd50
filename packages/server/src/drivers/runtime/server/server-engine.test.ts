import { randomBytes, randomInt } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { type Sshd, startSshd } from '../../../../../../tests/kit/sshd.ts'
import { linksTo } from '../../shell/ssh/test-server.ts'
import { emptyPlan } from '../build-plan.ts'
import { openEngine } from '../docker/engine.ts'
import { readIdentity } from '../docker/identity.ts'
import { removeEverythingOf } from '../docker/remove-everything.ts'
import type { Runtime } from '../runtime.ts'
import { createServerRuntime } from './server-runtime.ts'

const neverAborted = new AbortController().signal
const resources = { cpuCores: 1, memoryMb: 256, diskMb: 2000 }

describeNeeding(['docker', 'busyboxImage', 'sshd'], 'the engine of a server', () => {
  let folder: string
  let sshd: Sshd
  let links: ReturnType<typeof linksTo>['links']
  let runtime: Runtime
  const range = `198.19.${randomInt(256)}.0/24`
  const owner = { projectId: `prj_${randomBytes(4).toString('hex')}`, deploymentId: 'dep_1', environment: 'production' }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-server-'))
    sshd = await startSshd(partOf('sshd'))
    const to = linksTo(sshd, partOf('docker'))
    links = to.links
    runtime = createServerRuntime({ link: to.link, folder, imageMirror: null, addresses: { ranges: [range] } })
  })
  afterAll(async () => {
    await runtime.close()
    await links.close()
    await sshd[Symbol.asyncDispose]()
    await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
    await rm(folder, { recursive: true, force: true })
  })

  test('a version of a project gets a small network of the range', async () => {
    const instanceId = `ins_${randomBytes(6).toString('hex')}`
    const artifact = { kind: 'image' as const, reference: partOf('busyboxImage'), sizeBytes: 0, startCommand: null }
    const rest = {
      command: ['sleep', '60'],
      entrypoint: null,
      env: {},
      port: null,
      volumes: [],
      restart: false,
      resources,
    }
    const network = { name: `${owner.projectId}-production`, aliases: ['web'], services: 2 }
    await runtime.start({ instanceId, owner, service: 'web', artifact, network, ...rest }, neverAborted)
    const filters = { label: [`berth.network=${network.name}`] }
    const [made] = await openEngine(partOf('docker')).listNetworks({ filters })
    const subnet = made?.IPAM?.Config?.[0]?.Subnet
    expect(subnet).toMatch(new RegExp(`^${range.slice(0, -'0/24'.length).replaceAll('.', '[.]')}\\d+/28$`))
    await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('a BuildKit step gets its secret through SSH', async () => {
    const source = join(folder, 'source')
    await mkdir(source)
    const secret = randomBytes(9).toString('hex')
    // A step that the engine knows from an earlier run of the tests is not run again. A label does not change a step.
    const step = `RUN --mount=type=secret,id=TOKEN : ${owner.projectId} && echo "token of $(wc -c < /run/secrets/TOKEN)"`
    await writeFile(join(source, 'Dockerfile'), `FROM ${partOf('busyboxImage')}\n${step}\n`)
    const lines: string[] = []
    await runtime.build(
      {
        ...{ owner, service: '', sourceFolder: source, resources, timeoutMs: 60_000 },
        plan: { ...emptyPlan, kind: 'dockerfile', dockerfilePath: 'Dockerfile' },
        secrets: { TOKEN: secret },
      },
      ({ message }) => lines.push(message),
      neverAborted,
    )
    expect(lines).toContain(`token of ${secret.length}`)
    expect(lines.join('\n')).toContain('which has only a time limit here: the engine is on another machine')
  })
})
