// Attacks the backups of a running instance, in turns until the time is over: as a member, a viewer, a stranger, a project's own
// program and a hostile destination, and with power cuts. Run as root on a built product: npx node bench/backup-attacks.ts [minutes,
// default 20]. Fails when an attacker reads or writes data without permission, or when data is lost.
import { setTimeout as pause } from 'node:timers/promises'
import { setAttackScene } from './kit/backup-attack-scene.ts'
import { attacks } from './kit/backup-attacks.ts'
import { table } from './kit/table.ts'

const minutes = Number(process.argv[2] ?? 20)
const only = process.argv[3]
const wrong: string[] = []
const counts = new Map<string, { rounds: number; tries: number; slowestMs: number }>()

const scene = await setAttackScene((message) => {
  console.error(`WRONG: ${message}`)
  wrong.push(message)
})
try {
  const chosen = Object.entries(attacks).filter(([name]) => !only || name === only)
  for (const end = performance.now() + minutes * 60_000; performance.now() < end; )
    for (const [name, attack] of chosen) {
      const count = counts.get(name) ?? { rounds: 0, tries: 0, slowestMs: 0 }
      counts.set(name, count)
      const began = performance.now()
      try {
        count.tries += await attack(scene)
      } catch (error) {
        scene.wrong(`${name} could not be run: ${error instanceof Error ? error.stack : error}`)
      }
      count.rounds += 1
      count.slowestMs = Math.max(count.slowestMs, performance.now() - began)
      await scene.checkAll(name)
      if (wrong.length > 20) break
    }
  await pause(1_000)
  await scene.checkAtEnd()
} finally {
  await scene[Symbol.asyncDispose]()
}
const rows = [...counts].map(([name, { rounds, tries, slowestMs }]) => [name, rounds, tries, Math.round(slowestMs)].map(String))
console.log(table(['attack', 'rounds', 'tries', 'slowest round, ms'], rows))
console.log(`${scene.restarts} power cuts; ${scene.opened} archives opened and looked through; ${wrong.length} wrong`)
if (wrong.length > 0) process.exitCode = 1
