import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataFolderInUse, openDataFolder } from './data-folder.ts'

let base: string
let folder: string
const started: ChildProcess[] = []
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'berth-data-folder-'))
  folder = join(base, 'deep', 'data')
})
afterEach(async () => {
  for (const child of started.splice(0)) await kill(child)
  rmSync(base, { recursive: true, force: true })
})

/** Another process that locks the folder, prints the result and keeps running. */
function startHolder(): { child: ChildProcess; output: Promise<string> } {
  const code = `import { openDataFolder } from ${JSON.stringify(new URL('./data-folder.ts', import.meta.url).href)}
    openDataFolder(process.argv[1]).then(() => console.log('taken'), (error) => console.log(error.message))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(child)
  return { child, output: once(child.stdout!, 'data').then(([data]) => String(data).trim()) }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe('the folder', () => {
  test('is created, accessible to its owner only', async () => {
    const held = await openDataFolder(folder)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    held.release()
  })

  test('that cannot be created is reported with its path', async () => {
    writeFileSync(join(base, 'deep'), 'a file')
    await expect(openDataFolder(folder)).rejects.toThrow(`The data folder ${folder} cannot be created`)
  })

  test('can be locked again after its release', async () => {
    const first = await openDataFolder(folder)
    first.release()
    const second = await openDataFolder(folder)
    first.release()
    await expect(openDataFolder(folder)).rejects.toThrow(`pid ${process.pid}`)
    second.release()
    expect(existsSync(join(folder, 'in-use.json'))).toBe(false)
  })
})

describe('two processes on one data folder', () => {
  test('the second is refused with the pid of the first', async () => {
    const { child, output } = startHolder()
    expect(await output).toBe('taken')
    const refused = openDataFolder(folder)
    await expect(refused).rejects.toThrow(DataFolderInUse)
    await expect(refused).rejects.toThrow(`${folder} is in use by another process, pid ${child.pid}, since `)
  })

  test('a refused start does not affect the first', async () => {
    const held = await openDataFolder(folder)
    await expect(openDataFolder(folder)).rejects.toThrow(`pid ${process.pid}`)
    expect(await startHolder().output).toContain(`pid ${process.pid}`)
    held.release()
    expect(await startHolder().output).toBe('taken')
  })

  test('the lock of a killed process is stale at once', async () => {
    for (let round = 0; round < 3; round++) {
      const { child, output } = startHolder()
      expect(await output).toBe('taken')
      await kill(child)
      const held = await openDataFolder(folder)
      held.release()
    }
  })

  test('an old lock file whose pid belongs to another process does not lock the folder', async () => {
    const { child, output } = startHolder()
    expect(await output).toBe('taken')
    await kill(child)
    const note = JSON.parse(readFileSync(join(folder, 'in-use.json'), 'utf8'))
    writeFileSync(join(folder, 'in-use.json'), JSON.stringify({ ...note, pid: process.pid }))
    const held = await openDataFolder(folder)
    held.release()
  })

  test('an old lock file is not reported as the holder', async () => {
    const held = await openDataFolder(folder)
    const note = JSON.parse(readFileSync(join(folder, 'in-use.json'), 'utf8'))
    writeFileSync(join(folder, 'in-use.json'), JSON.stringify({ ...note, processStart: '1' }))
    await expect(openDataFolder(folder)).rejects.toThrow('is in use by another process. Stop it first')
    held.release()
  })

  test('exactly one of several concurrent starts succeeds', async () => {
    const words = await Promise.all(Array.from({ length: 4 }, () => startHolder().output))
    expect(words.filter((word) => word === 'taken')).toHaveLength(1)
    const winner = JSON.parse(readFileSync(join(folder, 'in-use.json'), 'utf8'))
    for (const word of words.filter((word) => word !== 'taken')) expect(word).toContain(`pid ${winner.pid}`)
  })
})
