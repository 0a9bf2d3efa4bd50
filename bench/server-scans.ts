// Scans a server's Docker engine repeatedly through one SSH connection, and reports the time, the memory growth and leftover objects.
// node bench/server-scans.ts [scans=1000]
// Memory is compared by reachable bytes: the resident size also includes pages that V8 keeps for later use. The objects of a scan that
// stay reachable longest are timers of 60 s, so memory is measured after these have ended.
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createServerReader } from '../packages/server/src/drivers/runtime/server/read-server.ts'
import { linksTo } from '../packages/server/src/drivers/shell/ssh/test-server.ts'
import { partOf } from '../tests/kit/machine.ts'
import { startSshd } from '../tests/kit/sshd.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const reachable = () => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return Math.round((heapUsed + external) / 1024 / 1024)
}
const clocksMs = 65_000
const leakMb = 20

const scans = Number(process.argv[2] ?? 1000)
const neverAborted = new AbortController().signal
await using sshd = await startSshd(partOf('sshd'))
const { links, link } = linksTo(sshd, partOf('docker'))
const times: number[] = []
let containers = 0
const waiting = Array.from({ length: scans }, (_, at) => at)
const scanOnce = async () => {
  const began = performance.now()
  containers = (await createServerReader(link).readDocker(neverAborted)).containers.length
  times.push(performance.now() - began)
}
const scan = async () => {
  while (waiting.pop() !== undefined) await scanOnce()
}
await scanOnce()
const before = { rss: process.memoryUsage().rss, reachable: reachable() }
const began = performance.now()
await Promise.all(Array.from({ length: 4 }, scan))
const seconds = (performance.now() - began) / 1000
const open = links.openConnections()
await links.close()
for (let tries = 0; tries < 50 && links.openConnections() > 0; tries++) await pause(100)
const sorted = times.sort((one, other) => one - other)
const at = (share: number) => `${Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)} ms`
const logins = sshd.log().match(/Accepted publickey/g)?.length ?? 0
const ends = sshd.log().match(/Disconnected from user|Connection closed by user/g)?.length ?? 0
console.log(
  `${scans} scans of ${containers} containers, four at once, in ${seconds.toFixed(1)} s: median ${at(0.5)}, p99 ${at(0.99)}`,
)
console.log(
  `SSH: ${logins} logins, ${open} connections at the end, ${links.openConnections()} after closing (${ends} ended by the server's log)`,
)
const rssMb = Math.round((process.memoryUsage().rss - before.rss) / 1024 / 1024)
const atOnce = reachable()
await pause(clocksMs)
const left = reachable() - before.reachable
console.log(
  `memory: resident ${rssMb} MB more; reachable ${before.reachable} MB before, ${atOnce} MB at the end, ${left} MB more a minute later`,
)
if (links.openConnections() > 0 || open > 1 || left > leakMb) process.exitCode = 1
