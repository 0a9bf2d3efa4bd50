// Creates 300 networks on one engine, as 300 projects with several services need, and times each. Fails unless all exist at once.
//   BERTH_TEST_DOCKER_SOCKET=… node bench/networks.ts [count] [range]
// All networks are removed at the end, also after a failure or Ctrl-C.
import { randomBytes } from 'node:crypto'
import { openEngine } from '../packages/server/src/drivers/runtime/docker/engine.ts'
import { Labels } from '../packages/server/src/drivers/runtime/docker/labels.ts'
import { removeEverythingOf } from '../packages/server/src/drivers/runtime/docker/remove-everything.ts'
import { Networks } from '../packages/server/src/drivers/runtime/docker/run/networks.ts'
import { SubnetAllocator } from '../packages/server/src/drivers/runtime/docker/subnet-allocator.ts'

const socketPath = process.env.BERTH_TEST_DOCKER_SOCKET ?? '/var/run/docker.sock'
const [count = '300', range] = process.argv.slice(2)
const engine = openEngine(socketPath)
const labels = new Labels(randomBytes(8).toString('hex'))
const networks = new Networks(engine, labels, null, new SubnetAllocator(engine, { ranges: range ? [range] : null }))
let isStopped = false
process.once('SIGINT', () => {
  isStopped = true
})

const times: number[] = []
try {
  for (let at = 0; at < Math.min(Number(count), 1000) && !isStopped; at++) {
    const began = performance.now()
    const name = `bench-${at}`
    const part = { name: '', internal: false, aliases: [], containers: 4 }
    await networks.withNetworks({ name, projectId: name, environment: 'production' }, [part], async () => undefined)
    times.push(performance.now() - began)
  }
  const made = await engine.listNetworks({ filters: labels.filter('network') })
  const middle = (some: number[]) => some.toSorted((left, right) => left - right)[Math.floor(some.length / 2)]?.toFixed(0)
  console.log(`${made.length} networks at once on one engine`)
  if (!isStopped && made.length !== times.length) process.exitCode = 1
  console.log(`median of the first 30: ${middle(times.slice(0, 30))} ms, of the last 30: ${middle(times.slice(-30))} ms`)
} finally {
  await removeEverythingOf(labels.instance, socketPath)
  console.log(`left: ${(await engine.listNetworks({ filters: labels.filter('network') })).length}`)
}
