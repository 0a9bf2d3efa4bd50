import { deployUnderLoad, type Manner } from '../tests/kit/deploy-mix.ts'
import { startHosting } from '../tests/kit/hosting.ts'
import { table } from './kit/table.ts'

/** node bench/deploys.ts [--deployments=50] [--runtime=process|docker]: good and bad deployments of one project under constant load. */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback

const count = Number(flag('deployments', '50'))
const runtime = flag('runtime', 'process')
if (runtime !== 'process' && runtime !== 'docker') throw new Error(`--runtime is ${runtime}: it must be process or docker`)
await using hosting = await startHosting({ runtime })
const begun = performance.now()
const { outcomes, load } = await deployUnderLoad(hosting, count)
const seconds = (performance.now() - begun) / 1000

const byManner = Map.groupBy(outcomes, ({ manner }) => manner)
const rows = [...byManner].map(([manner, all]: [Manner, typeof outcomes]) => {
  const ended = [...Map.groupBy(all, ({ deployment }) => deployment.status)].map(([status, some]) => `${some.length} ${status}`)
  const during = all.flatMap(({ deployment }) => deployment.requestsDuringSwitch ?? [])
  const sum = (of: 'total' | 'failed') => during.reduce((total, one) => total + one[of], 0)
  return [manner, all.length, ended.join(', '), sum('total'), sum('failed')] as const
})
console.log(table(['deployments', 'count', 'ended as', 'requests during the switch', 'of these failed'], rows))
console.log(`\n${load.requests} requests in ${Math.round(seconds)} s, failed: ${load.failures.length}`)
for (const failure of load.failures.slice(0, 10)) console.log(`  ${failure}`)
process.exitCode = load.failures.length === 0 ? 0 : 1
