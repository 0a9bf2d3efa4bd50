import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { jsonReply, startHostileEngine } from '../../../../../../tests/kit/hostile-engine.ts'
import type { ServerLink } from '../../shell/ssh/server-link.ts'
import { readIdentity } from '../docker/identity.ts'
import type { Runtime } from '../runtime.ts'
import { createServerRuntime } from './server-runtime.ts'

const instanceId = 'ins_1'
const portOnServer = 32_768

/** A server runtime whose engine has one running instance, published at a port of the server's loopback. */
async function runtimeWithInstance(): Promise<Runtime> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-server-runtime-'))
  const container = {
    Id: 'a'.repeat(64),
    Config: { Labels: { 'berth.instance': readIdentity(folder).instance, 'berth.kind': 'instance', 'berth.id': instanceId } },
    State: { Status: 'running', StartedAt: '2030-01-01T00:00:00Z', FinishedAt: '0001-01-01T00:00:00Z', OOMKilled: false },
    HostConfig: { PortBindings: { '3000/tcp': [{ HostIp: '127.0.0.1', HostPort: String(portOnServer) }] } },
    NetworkSettings: { Networks: {} },
    RestartCount: 0,
  }
  const engine = await startHostileEngine({ [`/containers/berth-${instanceId}/json`]: jsonReply(container) })
  const link = {
    async toDocker() {
      const socket = connect(engine.socket)
      await once(socket, 'connect')
      return socket
    },
    toPort: () => Promise.reject(new Error('connection refused')),
  } as unknown as ServerLink
  const runtime = createServerRuntime({ link, folder, imageMirror: null })
  onTestFinished(async () => {
    await runtime.close()
    await engine[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  return runtime
}

test('every state of an instance on a server has the address of its tunnel, not the port on the server', async () => {
  const runtime = await runtimeWithInstance()
  const address = (await runtime.inspect(instanceId))?.address
  expect(address).toMatchObject({ host: '127.0.0.1', port: expect.any(Number) })
  expect(address?.port).not.toBe(portOnServer)
  expect((await runtime.inspectCached(instanceId))?.address).toEqual(address)
})
