import { EdgeProcess } from './process/edge-process.ts'
import { AnotherEdge } from './process/folder-lock.ts'
import { runWorkerProcess } from './process/worker-process.ts'
import { anotherEdgeRuns, type EdgeRole, type EdgeSettings } from './protocol/edge-settings.ts'

/** Entry point of the edge: `main.ts <role> <settings as JSON>`. The edge is a separate process that outlives the control plane. */
const role = process.argv[2] as EdgeRole
const settings = JSON.parse(process.argv[3] ?? '{}') as EdgeSettings

// An error of one connection must not end the others; it is logged.
process.on('uncaughtException', (cause) => console.error(new Date().toISOString(), 'edge: unexpected error:', cause))
process.on('unhandledRejection', (cause) => console.error(new Date().toISOString(), 'edge: unexpected error:', cause))

if (role === 'worker') runWorkerProcess()
else
  new EdgeProcess(settings).start(role).catch((cause: unknown) => {
    console.error(new Date().toISOString(), 'edge: start failed:', cause instanceof Error ? cause.message : cause)
    process.exit(cause instanceof AnotherEdge ? anotherEdgeRuns : 1)
  })
