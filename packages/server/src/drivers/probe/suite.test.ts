import { freePorts } from '../../../../../tests/kit/free-port.ts'
import { serve } from '../../../../../tests/kit/http-server.ts'
import { InMemoryRuntime, memoryProbe } from '../../../tests/kit/memory-runtime.ts'
import type { StartRequest } from '../runtime/runtime.ts'
import { probe } from './probe.ts'
import { describeProbe } from './suite.ts'

describeProbe('probe', async () => {
  const server = await serve((request, response) => response.writeHead(request.url === '/broken' ? 500 : 200).end())
  const port = Number(new URL(server.url).port)
  const [closedPort] = await freePorts(1)
  const at = (path: string) => ({ host: '127.0.0.1', port, path })
  return {
    probe,
    well: at('/'),
    unwell: at('/broken'),
    unreachable: { host: '127.0.0.1', port: closedPort!, path: '/' },
    close: () => server.close(),
  }
})

describeProbe('the probe of API tests', async () => {
  const [well, unwell] = [new InMemoryRuntime(20_000), new InMemoryRuntime(30_000)]
  unwell.isHealthy = false
  const at = async (runtime: InMemoryRuntime) => {
    const artifact = {
      kind: 'image',
      reference: 'app',
      sizeBytes: 1,
      startCommand: null,
      deploymentId: 'dep',
      projectId: 'prj',
    } as const
    runtime.artifacts.set(artifact.reference, artifact)
    const request = { instanceId: 'ins_1', service: '', artifact, port: 3000 } as unknown as StartRequest
    const { address } = await runtime.start(request)
    return { ...address!, path: '/' }
  }
  return {
    probe: memoryProbe(() => [well, unwell]),
    well: await at(well),
    unwell: await at(unwell),
    unreachable: { host: '127.0.0.1', port: 1, path: '/' },
    close: async () => {},
  }
})
