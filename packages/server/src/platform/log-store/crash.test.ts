import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLogStore } from './log-store.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-crash-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Appends numbered lines until it is killed, and prints the number up to which they are flushed. */
const writer = `
  import { createLogStore } from ${JSON.stringify(new URL('./log-store.ts', import.meta.url).href)}
  const store = createLogStore({ folder: process.argv[1], segmentBytes: 4000, flushMs: 1 })
  for (let number = Number(process.argv[2]); ; ) {
    for (let batch = 0; batch < 5; batch++) {
      const entries = Array.from({ length: 7 }, () => ({ stream: 'stdout', service: null, deploymentId: null, message: String(number++) }))
      await store.append('prj_a', 'runtime', entries)
    }
    await store.flush()
    process.stdout.write(number - 1 + '\\n')
  }`

/** Ends the writer with kill -9 after it has printed several numbers; returns the last one. */
async function writeAndKill(from: number, timesSpoken: number): Promise<number> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', writer, folder, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let flushed = -1
  let spoken = 0
  for await (const line of createInterface(child.stdout)) {
    flushed = Number(line)
    if (++spoken === timesSpoken) child.kill('SIGKILL')
  }
  await exited
  return flushed
}

test('kill -9 loses no flushed line and repeats no line or id', async () => {
  let next = 0
  for (const timesSpoken of [1, 30, 5]) {
    const flushed = await writeAndKill(next, timesSpoken)
    const store = createLogStore({ folder })
    const entries = await store.tail('prj_a', 'runtime', { limit: 1_000_000 })
    await store.close()
    const numbers = entries.map(({ message }) => Number(message))
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => at))
    expect(numbers.length).toBeGreaterThan(flushed)
    const ids = entries.map(({ id }) => id)
    expect(ids).toEqual([...new Set(ids)].sort())
    next = numbers.length
  }
})

test('an empty file created before a crash does not hide lines of the previous one', async () => {
  const first = createLogStore({ folder })
  await first.append('prj_a', 'runtime', [{ stream: 'stdout', service: null, deploymentId: null, message: 'kept' }])
  await first.close()
  const path = join(folder, 'prj_a', 'runtime')
  const [name] = readdirSync(path) as [string]
  writeFileSync(join(path, `${String(Number(name.slice(0, 16)) + 1).padStart(16, '0')}.log`), '')
  const second = createLogStore({ folder })
  expect(await second.tail('prj_a', 'runtime', { limit: 10 })).toMatchObject([{ message: 'kept' }])
  await second.append('prj_a', 'runtime', [{ stream: 'stdout', service: null, deploymentId: null, message: 'next' }])
  expect(await second.tail('prj_a', 'runtime', { limit: 10 })).toMatchObject([{ message: 'kept' }, { message: 'next' }])
  await second.close()
})
