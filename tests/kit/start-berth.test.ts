import { access } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startBerth } from './start-berth.ts'

const isUp = (url: string) =>
  fetch(`${url}/api/health`).then(
    ({ status }) => status === 200,
    () => false,
  )

test('the built product serves, restarts on the same folder after kill -9, stops on SIGTERM, and leaves nothing', async () => {
  let folder: string
  {
    await using berth = await startBerth()
    folder = berth.dataFolder
    expect(await isUp(berth.url)).toBe(true)
    const firstPid = berth.pid
    await berth.kill9()
    expect(await isUp(berth.url)).toBe(false)
    await berth.restart()
    expect(await isUp(berth.url)).toBe(true)
    expect(berth.pid).not.toBe(firstPid)
    expect(berth.output().match(/^ready$/gm)).toHaveLength(2)
    expect(await berth.stop()).toBe(0)
    expect(await isUp(berth.url)).toBe(false)
  }
  await expect(access(folder)).rejects.toThrow('ENOENT')
})

test('a wrong setting is reported with the error message of the product', async () => {
  await expect(startBerth({ env: { BERTH_MODE: 'submarine' } })).rejects.toThrow(/BERTH_MODE/)
})
